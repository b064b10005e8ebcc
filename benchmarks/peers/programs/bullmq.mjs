// BullMQ: a queue in Redis, one worker.
import { Queue, Worker } from 'bullmq'
import { TASK, SETTINGS, aSecondAfter, chunks, hit, inserting, mark, now, perform, started, submissions } from './marks.mjs'

const AT_ONCE = 100
const SCHEDULED_A_SECOND = 200 // At least, on a busy machine: how far ahead the second has to be in which all are due.
const { hostname: host, port } = new URL(TASK.redis_url)
const connection = { host, port: Number(port), maxRetriesPerRequest: null }

const noops = some => some.map(() => ({ name: 'noop', data: {} }))
const run = handlers => new Worker('peers', async job => handlers[job.name](job.data), { connection, ...SETTINGS })

async function queue (work) {
  const opened = new Queue('peers', { connection })
  await opened.waitUntilReady()
  await work(opened)
  await opened.close()
}

await perform({
  setup: () => {},
  fill: () => queue(peer => chunks(2000, some => peer.addBulk(noops(some)))),
  insert_bulk: () => queue(peer => inserting(() => chunks(1000, some => peer.addBulk(noops(some))))),
  insert_each: () => queue(peer => inserting(() => chunks(1, () => peer.add('noop', {})))),
  worker: () => {
    mark('start')
    run({ noop: () => hit(), at: ({ number, due }) => started(number, due) })
  },
  submit: () => queue(peer => submissions((number, due) =>
    peer.add('at', { number, due }, { delay: Math.max(0, Math.round((due - now()) * 1000)) }))),
  burst: async () => {
    const began = now()
    const due = aSecondAfter(5 + TASK.jobs / SCHEDULED_A_SECOND)
    const instant = new Date(due * 1000)
    const cron = { pattern: `${instant.getUTCSeconds()} ${instant.getUTCMinutes()} * * * *`, tz: 'UTC' }
    await queue(peer => chunks(AT_ONCE, some => Promise.all(some.map(number =>
      peer.upsertJobScheduler(`s${number}`, cron, { name: 'tick', data: { number } })))))
    run({ tick: ({ number }) => started(number, due) })
    mark('armed', { due, seconds: now() - began })
  }
})
