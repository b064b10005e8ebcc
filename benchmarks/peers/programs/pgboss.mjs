// pg-boss: work in batches, fetched again at once while they are full.
import { PgBoss } from 'pg-boss'
import { TASK, SETTINGS, aSecondAfter, chunks, hit, inserting, mark, now, numbers, perform, started, submissions } from './marks.mjs'

const SCHEDULED_A_SECOND = 100 // At least, on a busy machine: how far ahead the second has to be in which all are due.
const full = { batchSize: 500, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true }
const noops = some => some.map(() => ({ data: {} }))

async function boss (options = {}) {
  const opened = new PgBoss({ connectionString: TASK.database_url, max: 10, schedule: false, supervise: false, ...options })
  opened.on('error', error => console.error(error))
  await opened.start()
  return opened
}

async function client (work) {
  const opened = await boss()
  await work(opened)
  await opened.stop({ graceful: false })
}

await perform({
  setup: () => client(async peer => {
    for (const name of ['noop', 'at', 'tick']) await peer.createQueue(name, { notify: true })
  }),
  fill: () => client(peer => chunks(5000, some => peer.insert('noop', noops(some)))),
  insert_bulk: () => client(peer => inserting(() => peer.insert('noop', noops(numbers(TASK.jobs))))),
  insert_each: () => client(peer => inserting(() => chunks(1, () => peer.send('noop', {})))),
  worker: async () => {
    mark('start')
    const peer = await boss({ supervise: true, useListenNotify: SETTINGS.useListenNotify })
    await peer.work('noop', full, async jobs => jobs.forEach(() => hit()))
    await peer.work('at', { batchSize: 50, ...SETTINGS.at }, async jobs => jobs.forEach(({ data }) => started(data.number, data.due)))
  },
  submit: () => client(peer => submissions((number, due) =>
    peer.send('at', { number, due }, { startAfter: new Date(due * 1000) }))),
  burst: async () => {
    const began = now()
    const peer = await boss({ schedule: true, supervise: true, cronMonitorIntervalSeconds: 1, cronWorkerIntervalSeconds: 1 })
    const due = aSecondAfter(5 + TASK.jobs / SCHEDULED_A_SECOND)
    const instant = new Date(due * 1000)
    const cron = `${instant.getUTCSeconds()} ${instant.getUTCMinutes()} * * * *`
    await chunks(1, ([number]) => peer.schedule('tick', cron, { number }, { key: `s${number}` }))
    await peer.work('tick', full, async jobs => jobs.forEach(({ data }) => started(data.number, due)))
    mark('armed', { due, seconds: now() - began })
  }
})
