// Jobs that finished in each minute of the last hour, as the object reports them.

import { computed } from "@preact/signals";
import { MINUTE_MS } from "../../contract/words/values.ts";
import { minutes } from "./board.ts";
import { now } from "./clock.ts";

const SHOWN_MINUTES = 60;

/** What shows it is drawn again when a minute begins, not with each second. */
export const thisMinute = computed(() => Math.floor(now.value / MINUTE_MS));

/** The last minute is incomplete. */
export const minutesOfHour = () => {
  const byStart = new Map(minutes.value.map((minute) => [Date.parse(minute.at), minute]));
  return Array.from({ length: SHOWN_MINUTES }, (_, index) => {
    const at = (thisMinute.value - SHOWN_MINUTES + 1 + index) * MINUTE_MS;
    const { completed = 0, failed = 0 } = byStart.get(at) ?? {};
    return { at, completed, failed };
  });
};
