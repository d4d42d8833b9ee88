// Why a job ended that the service ended itself, not its worker.

import type { JobError } from "./job.ts";

export const clientClosed: JobError = {
  code: "client_closed",
  message: "the client left before its answer was whole",
  retryable: false,
};

export const slowReader: JobError = {
  code: "slow_reader",
  message: "the client read too slowly: it left 1 MiB of its answer unread",
  retryable: false,
};

export const streamLost: JobError = {
  code: "stream_lost",
  message: "the worker's stream broke off before its end",
  retryable: false,
};

export const onlyReads: JobError = {
  code: "forbidden",
  message: "the person has role viewer now, which only reads",
  retryable: false,
};
export const keyEnded: JobError = { code: "invalid_api_key", message: "the key has ended", retryable: false };
export const secretEnded: JobError = { ...keyEnded, message: "the key was rotated: use the new one" };

export const killswitchError = (level: number, reason: string | null): JobError => ({
  code: "killswitch_active",
  message: `the killswitch is at level ${level}${reason ? `: ${reason}` : ""}`,
  retryable: false,
});
