// A place where jobs are done, with the same calls on the floor, on Signalbox and on a peer: a new object or queue for
// each measurement, so that none has the rows of another.

import { randomBytes } from "node:crypto";
import type { Connection } from "./connection.ts";
import type { Wire } from "./socket-workers.ts";

export const BATCH_JOBS = 500;
export const PROMPT = "Summarise this in one line.";
export const RESULT = "A line.";

/** Jobs over HTTP alone, which is all that a peer has. */
export interface HttpWorkplace {
  readonly port: number;
  readonly authorization: string;
  /** Prepares for `threeCalls` by this many clients. */
  enrol: (clients: number) => Promise<void>;
  /** One job: create, claim, complete. */
  threeCalls: (connection: Connection, client: number) => Promise<void>;
  /** Waits for background work; returns how long that took, in ms. */
  settle: () => Promise<number>;
}

export interface Workplace extends HttpWorkplace {
  readonly wire: Wire;
  /** One job that a worker on a socket will get. */
  create: (connection: Connection) => Promise<unknown>;
  /** One job to a worker on a socket. */
  dispatch: (connection: Connection) => Promise<unknown>;
  /** BATCH_JOBS jobs in one call. */
  batch: (connection: Connection) => Promise<unknown>;
}

export type Open = () => Promise<Workplace>;

export const freshName = (): string => `bench-${randomBytes(6).toString("hex")}`;
