// What the end of a command means for its job. Pure.

import type { JobFailure } from "../calls/runtime.ts";
import type { Ended } from "./process-group.ts";

/** EX_TEMPFAIL of sysexits.h: the command asks to be tried again. */
const TRY_AGAIN = 75;

/** Null: it ended well. */
export const failureOf = ({ code, signal }: Ended, stderrTail: string): JobFailure | null => {
  if (code === 0) return null;
  const said = stderrTail === "" ? "" : `: ${stderrTail}`;
  if (code === null) {
    const message = `The command was ended by ${signal}, which Signalbox did not send${said}`;
    return { code: `signal_${String(signal).toLowerCase()}`, message, retryable: true };
  }
  return {
    code: `exit_${code}`,
    message: `The command ended with exit code ${code}${said}`,
    retryable: code === TRY_AGAIN,
  };
};

export const neverStarted = ({ message }: Error): string => `the command could not be started: ${message}`;
