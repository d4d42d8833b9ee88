// Full-jitter back-off: a random wait up to a ceiling that doubles, so that workers which lost their coordinator at the
// same moment do not all reconnect at the same moment.

import { setTimeout as delay } from "node:timers/promises";

const BASE_MS = 500;
const CEILING_MS = 30_000;

/** @param failures how many tries failed in a row, 0 for the first wait. @param random in [0, 1). */
export const backoffMs = (failures: number, random: number): number =>
  Math.round(random * Math.min(CEILING_MS, BASE_MS * 2 ** Math.min(failures, 16)));

/** For about four minutes. */
const MAX_SENT_AGAIN = 20;

/** Sends what is here whole again while the coordinator is away: to run its job once more would cost more. */
export const untilSent = async <Sent>(
  send: () => Promise<Sent>,
  mayPass: (sent: Sent) => boolean,
  signal: AbortSignal,
): Promise<Sent> => {
  for (let failures = 0; ; failures += 1) {
    const sent = await send();
    if (failures === MAX_SENT_AGAIN || !mayPass(sent)) return sent;
    await delay(backoffMs(failures, Math.random()), undefined, { signal });
  }
};
