// A server that runs, whichever process its edge is in.

import type { Exit } from "./supervised.ts";

export interface Served {
  readonly url: string;
  /** How a process ended that never served; null while none did. A start ends with it, a later death does not. */
  readonly earlyExit: () => Exit | null;
  /** Stops every process that writes to the data folder where it stands, and lets it go on. */
  readonly freeze: () => void;
  readonly thaw: () => void;
  /** Resolves once every process is gone and its files are closed. */
  readonly stop: () => Promise<void>;
}

export interface Address {
  readonly host: string;
  readonly port: number;
  readonly url: string;
}
