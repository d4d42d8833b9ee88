// A place where jobs are done, the same calls on the floor and on Signalbox: an object of its own for each measurement,
// so that none inherits the rows of another.

import { randomBytes } from "node:crypto";
import type { Connection } from "./connection.ts";
import type { Wire } from "./socket-workers.ts";

export const BATCH_JOBS = 500;
export const PROMPT = "Summarise this in one line.";
export const RESULT = "A line.";

export interface Workplace {
  readonly port: number;
  readonly authorization: string;
  readonly wire: Wire;
  /** Makes ready for `threeCalls` by so many clients. */
  enrol: (clients: number) => Promise<void>;
  /** One job: create, claim, complete. */
  threeCalls: (connection: Connection, client: number) => Promise<void>;
  /** One job that a worker on a socket will get. */
  create: (connection: Connection) => Promise<unknown>;
  /** One job to a worker on a socket. */
  dispatch: (connection: Connection) => Promise<unknown>;
  /** BATCH_JOBS jobs in one call. */
  batch: (connection: Connection) => Promise<unknown>;
  /** Waits for what goes on in the background; answers how long that took, ms. */
  settle: () => Promise<number>;
}

export type Open = () => Promise<Workplace>;

export const freshName = (): string => `bench-${randomBytes(6).toString("hex")}`;
