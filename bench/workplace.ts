// A place where jobs are done, the same calls on the floor, on Signalbox and on a peer: an object or queue of its own for
// each measurement, so that none inherits the rows of another.

import { randomBytes } from "node:crypto";
import type { Connection } from "./connection.ts";
import type { Wire } from "./socket-workers.ts";

export const BATCH_JOBS = 500;
export const PROMPT = "Summarise this in one line.";
export const RESULT = "A line.";

/** Where jobs go by HTTP alone: all that a peer has. */
export interface HttpWorkplace {
  readonly port: number;
  readonly authorization: string;
  /** Makes ready for `threeCalls` by so many clients. */
  enrol: (clients: number) => Promise<void>;
  /** One job: create, claim, complete. */
  threeCalls: (connection: Connection, client: number) => Promise<void>;
  /** Waits for what goes on in the background; answers how long that took, ms. */
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
