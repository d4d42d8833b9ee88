// What the model knows of one worker. Its last sign of life is known within bounds: the object keeps the newest only in
// memory, so after a sleep it may remember an older one.

import type { Span } from "./job-state.ts";

export interface WorkerState {
  readonly instance: string;
  readonly provider: string;
  readonly tags: readonly string[];
  readonly concurrency: number;
  /** By an operator, or by the service for misbehaving. */
  readonly pause: "by hand" | "by the service" | null;
  readonly isHalted: boolean;
  readonly viaSocket: boolean;
  readonly isConnected: boolean;
  readonly connectedAt: number;
  readonly signFrom: number;
  readonly signUntil: number;
  /** The stored sign of life is no older. */
  readonly storedFrom: number;
  /** At most this many leases in a row that it let expire, and failures in a row. */
  readonly expiredLeases: number;
  readonly failures: number;
}

export interface Offer {
  readonly instance: string;
  readonly provider: string;
  readonly tags: readonly string[];
  readonly concurrency: number;
}

const OFFLINE_AFTER_MS = 60_000;
const SIGN_STORED_AFTER_MS = OFFLINE_AFTER_MS / 2;

const UNKNOWN = {
  pause: null,
  isHalted: false,
  viaSocket: false,
  isConnected: false,
  connectedAt: 0,
  storedFrom: 0,
  expiredLeases: 0,
  failures: 0,
};

/** A presence report was received; a new worker during a killswitch begins halted. */
export const reported = (
  known: WorkerState | undefined,
  offer: Offer,
  viaSocket: boolean,
  isHalting: boolean,
  { fromAt, untilAt }: Span,
): WorkerState => {
  const before = known ?? { ...UNKNOWN, isHalted: isHalting };
  return {
    ...before,
    ...offer,
    viaSocket: viaSocket || before.isConnected,
    signFrom: fromAt,
    signUntil: untilAt,
    storedFrom: known === undefined ? fromAt : Math.max(known.storedFrom, fromAt - SIGN_STORED_AFTER_MS),
  };
};

export const heard = (worker: WorkerState, { fromAt, untilAt }: Span): WorkerState => ({
  ...worker,
  signFrom: fromAt,
  signUntil: untilAt,
});

export const connected = (worker: WorkerState, span: Span): WorkerState => ({
  ...heard(worker, span),
  viaSocket: true,
  isConnected: true,
  connectedAt: span.fromAt,
});

export const resumed = (worker: WorkerState): WorkerState => ({
  ...worker,
  pause: null,
  isHalted: false,
  expiredLeases: 0,
  failures: 0,
});

/** The object lost its memory; sockets stay or go with it. */
export const remembered = (worker: WorkerState, areSocketsKept: boolean): WorkerState => {
  const isConnected = worker.isConnected && areSocketsKept;
  const storedFrom = isConnected ? Math.max(worker.storedFrom, worker.connectedAt) : worker.storedFrom;
  return { ...worker, isConnected, signFrom: Math.min(worker.signFrom, storedFrom) };
};

export const isSurelyOffline = (worker: WorkerState, nowAt: number): boolean =>
  nowAt - worker.signUntil > OFFLINE_AFTER_MS;
export const mayBeOffline = (worker: WorkerState, nowAt: number): boolean => nowAt - worker.signFrom > OFFLINE_AFTER_MS;
export const isCutOff = (worker: WorkerState): boolean => worker.viaSocket && !worker.isConnected;

export const aged = (worker: WorkerState, ms: number): WorkerState => ({
  ...worker,
  connectedAt: worker.connectedAt - ms,
  signFrom: worker.signFrom - ms,
  signUntil: worker.signUntil - ms,
  storedFrom: worker.storedFrom - ms,
});
