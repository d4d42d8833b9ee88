// A run as data: a list of steps, each with all the randomness it needs, so that any can be left out and the rest keeps
// its meaning.

import { Random } from "./platform/random.ts";

const STEP_WEIGHTS = {
  create: 8,
  "create a batch": 3,
  dispatch: 8,
  "repeat a creation": 4,
  "repeat a creation a day later": 0.7,
  cancel: 2,
  retry: 4,
  patch: 3,
  read: 2,
  "throw the killswitch": 1.5,
  "clear the killswitch": 2.5,
  pause: 1.5,
  resume: 2,
  "forget a worker": 1.5,
  configure: 4,
  "make a schedule": 1.5,
  "edit a schedule": 1,
  "delete a schedule": 0.5,
  "run a schedule": 1,
  "revoke a key": 1,
  "rotate a key": 1,
  "sign in": 0.7,
  "wait for a job's end": 2,
  "watch the dashboard": 0.7,
  "follow a catalog": 0.7,
  "ask at the front door": 4,
  "leave the front door": 0.5,
  "make a webhook": 1,
  "change a webhook": 1,
  "create long jobs": 0.08,
  "fill the storage": 0.4,
  "create with a limited key": 3,
  "ask often": 0.7,
  "make a batch": 1,
  "stop a batch": 0.3,
  "change the objects of files": 1,
  "store a file": 2,
  "delete a file": 1,
  "use a file": 1,
  "store an output": 2,
  "ask for a stored answer": 2,
  "end a stored answer": 1,
  "delete a batch": 0.6,
  "an edge stalls": 2,
  "a stalled edge goes on": 2,
  "report presence": 9,
  "connect a socket": 5,
  "drop a socket": 1.5,
  ping: 2,
  claim: 6,
  "wait for a job": 2,
  start: 9,
  beat: 4,
  complete: 8,
  fail: 6,
  "lack a model": 2,
  release: 2,
  "say the first word": 2,
  "a provider refuses all": 3,
  "repeat a report": 5,
  "report for another": 2,
  "crash a worker": 1,
  "complete at length": 0.15,
  "send too long a frame": 0.3,
  "offer too much": 0.1,
  "end a job and come back": 0.8,
  "change many jobs": 1.5,
  "give a worker hours": 0.7,
  "order a model": 1.5,
  "work on a model": 2,
  "complete and claim": 3,
  "tell late spending": 2,
  "call a provider without a worker": 1.5,
  "a runner reports": 6,
  "a runner is lost": 0.7,
  "a lost runner reports": 0.7,
  "the provider's key is lost or found": 0.5,
  "let time pass": 16,
  "hold the alarm": 1.5,
  "lose power for hours": 0.6,
  "set the clock back": 0.6,
  "set the clock ahead": 0.4,
  "change the mood of the receiver": 1,
  "let the alarm come": 3,
  "alarm out of turn": 2,
  "crash the object": 2.5,
  "deploy the object": 1,
  "replace the object": 1,
  "break a turn": 2,
  "crash in a turn": 2,
  "change the weather of history": 4,
  "history answers": 2,
  "a late batch lands": 3,
  "another tenant has the same ids": 0.3,
  "leave and stay": 0.3,
  "move elsewhere": 0.3,
} as const;

export type StepKind = keyof typeof STEP_WEIGHTS;

export interface Step {
  readonly kind: StepKind;
  /** Random numbers in [0, 1) that the step uses. */
  readonly chances: readonly [number, number, number, number, number];
  /** The next step joins this one's commit. */
  readonly isJoined: boolean;
}

export interface Plan {
  readonly seed: number;
  readonly steps: readonly Step[];
}

const JOINED_SHARE = 0.2;
const SHORTEST = 20;
const LONGEST = 900;

export const planOf = (seed: number): Plan => {
  const random = new Random(seed);
  const kinds = Object.entries(STEP_WEIGHTS) as [StepKind, number][];
  // Many short runs, each with a calm phase at its end, and some long ones.
  const count = SHORTEST + Math.floor(random.next() ** 2 * (LONGEST - SHORTEST));
  const steps = Array.from({ length: count }, (): Step => {
    const kind = random.weighted(kinds);
    const chances = [random.next(), random.next(), random.next(), random.next(), random.next()] as const;
    return { kind, chances, isJoined: random.next() < JOINED_SHARE };
  });
  return { seed, steps };
};
