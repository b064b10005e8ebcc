// graphile-worker: a local queue, and completions in batches where the settings say so.
import { Logger, makeWorkerUtils, parseCronItems, run } from 'graphile-worker'
import { TASK, SETTINGS, aMinuteAfter, chunks, hit, inserting, mark, now, numbers, perform, started, submissions } from './marks.mjs'

const SCHEDULED_A_SECOND = 1000 // At least, on a busy machine: how far ahead the second has to be in which all are due.
const logger = new Logger(() => (level, message) => { if (level === 'error') console.error(message) })
const worker = { connectionString: TASK.database_url, maxPoolSize: SETTINGS.concurrentJobs + 4, ...SETTINGS }
const noops = some => some.map(() => ({ identifier: 'noop', payload: {} }))

async function client (work) {
  const opened = await makeWorkerUtils({ connectionString: TASK.database_url, logger })
  await work(opened)
  await opened.release()
}

await perform({
  setup: () => client(peer => peer.migrate()),
  fill: () => client(peer => chunks(5000, some => peer.addJobs(noops(some)))),
  insert_bulk: () => client(peer => inserting(() => peer.addJobs(noops(numbers(TASK.jobs))))),
  insert_each: () => client(peer => inserting(() => chunks(1, () => peer.addJob('noop', {})))),
  worker: async () => {
    mark('start')
    const taskList = { noop: async () => hit(), at: async ({ number, due }) => started(number, due) }
    await run({ preset: { worker }, logger, taskList, parsedCronItems: [] })
  },
  submit: () => client(peer => submissions((number, due) =>
    peer.addJob('at', { number, due }, { runAt: new Date(due * 1000) }))),
  burst: async () => {
    const began = now()
    const due = aMinuteAfter(4 + TASK.jobs / SCHEDULED_A_SECOND) // Its crons know no seconds.
    const match = `${new Date(due * 1000).getUTCMinutes()} * * * *`
    const items = numbers(TASK.jobs).map(number => ({ task: 'tick', match, identifier: `s${number}`, payload: { number } }))
    const taskList = { tick: async ({ number }) => started(number, due) }
    await run({ preset: { worker }, logger, taskList, parsedCronItems: parseCronItems(items) })
    mark('armed', { due, seconds: now() - began })
  }
})
