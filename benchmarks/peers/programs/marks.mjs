// What a program is told, and what it tells of how far it is: `marks.py` for Node.
import fs from 'node:fs'

const FLUSH_MILLISECONDS = 250
const A_SECOND = 20
const LEAD_SECONDS = 2

export const TASK = JSON.parse(process.env.PEERS_TASK)
export const SETTINGS = TASK.settings

export const now = () => Date.now() / 1000
export const sleep = seconds => new Promise(resolve => setTimeout(resolve, Math.max(0, seconds * 1000)))
export const numbers = (amount, from = 0) => Array.from({ length: amount }, (_, index) => from + index)

export function mark (word, facts = {}) {
  fs.appendFileSync(`${TASK.folder}/marks`, JSON.stringify({ word, at: now(), ...facts }) + '\n')
}

let hits = 0

// Counts a run of the no-op handler; the last one expected is told, and one too many.
export function hit () {
  hits += 1
  if (hits === TASK.jobs) mark('last')
  if (hits === TASK.jobs + 1) mark('doubled')
}

let starts = []

// Notes that the handler of a job has started now; `due` is when it should have, in seconds of the epoch.
export function started (number, due) {
  if (starts.length === 0) setTimeout(flush, FLUSH_MILLISECONDS)
  starts.push(`${number} ${due} ${now()}\n`)
}

function flush () {
  fs.appendFileSync(`${TASK.folder}/starts-${process.pid}`, starts.join(''))
  starts = []
}

// Tells how long the work took.
export async function inserting (work) {
  const began = performance.now()
  await work()
  mark('inserted', { seconds: (performance.now() - began) / 1000 })
}

// Calls `submit(number, due)` for each job at a random instant.
export async function submissions (submit) {
  const began = now()
  const offsets = numbers(TASK.jobs).map(() => Math.random() * TASK.jobs / A_SECOND).sort((one, other) => one - other)
  for (const [number, offset] of offsets.entries()) {
    await sleep(began + offset - now())
    await submit(number, now() + LEAD_SECONDS)
  }
}

// Calls `work(numbers)` for all jobs, in chunks.
export async function chunks (size, work) {
  for (let first = 0; first < TASK.jobs; first += size) await work(numbers(Math.min(size, TASK.jobs - first), first))
}

export const aSecondAfter = seconds => Math.floor(now() + seconds) + 1

export function aMinuteAfter (seconds) {
  const second = Math.floor(now() + seconds)
  return second - second % 60 + 60
}

// Does the part of the program that is wanted.
export const perform = parts => parts[process.argv[2]]()
