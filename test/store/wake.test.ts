import { afterEach, expect, test, vi } from "vitest";
import { Wake } from "../../durable-objects/turn/wake.ts";

const NOON = Date.parse("2026-11-21T12:00:00Z");
const TEN_MINUTES_MS = 600_000;
const BACK_OFF_MS = 5_000;

afterEach(() => vi.useRealTimers());

/** A wake, the times its alarm was set for, and what fires it. */
const newWake = async () => {
  const alarms: number[] = [];
  let alarmAt: number | null = null;
  const state = {
    storage: {
      getAlarm: async () => alarmAt,
      setAlarm: async (at: number) => {
        alarmAt = at;
        alarms.push(at);
      },
    },
    blockConcurrencyWhile: (work: () => Promise<void>) => work(),
    waitUntil: () => undefined,
  };
  const wake = new Wake(state as unknown as DurableObjectState);
  await Promise.resolve();
  const fire = () => {
    alarmAt = null;
    return wake.begin();
  };
  return { wake, alarms, fire };
};

test("a back-off after a failed sweep is no longer for a clock that is set back meanwhile", async () => {
  vi.useFakeTimers({ now: NOON });
  const { wake, alarms } = await newWake();
  wake.backOff(BACK_OFF_MS);
  wake.arm(NOON);
  expect(alarms).toEqual([NOON + BACK_OFF_MS]);
  vi.setSystemTime(NOON - TEN_MINUTES_MS);
  wake.arm(NOON - TEN_MINUTES_MS);
  expect(alarms.at(-1)).toBe(NOON - TEN_MINUTES_MS + BACK_OFF_MS);
});

test("an alarm that is due already is not set again for something that was due before it", async () => {
  vi.useFakeTimers({ now: NOON });
  const { wake, alarms } = await newWake();
  wake.arm(NOON + BACK_OFF_MS);
  wake.arm(NOON);
  vi.setSystemTime(NOON + TEN_MINUTES_MS);
  wake.arm(NOON - BACK_OFF_MS);
  expect(alarms).toEqual([NOON + BACK_OFF_MS, NOON]);
});

test("a lost alarm is set again only after what is answered at once, and not if an alarm is set by then", async () => {
  vi.useFakeTimers({ now: NOON });
  const { wake, alarms } = await newWake();
  wake.restore(NOON);
  expect(alarms).toEqual([]);
  vi.runAllTimers();
  expect(alarms).toEqual([NOON]);
  wake.restore(NOON + BACK_OFF_MS);
  wake.restore(null);
  vi.runAllTimers();
  expect(alarms).toEqual([NOON]);
});

test("while the alarm's work is under way no alarm is set, which would replace the one that comes again", async () => {
  vi.useFakeTimers({ now: NOON });
  const { wake, alarms, fire } = await newWake();
  wake.arm(NOON);
  await fire();
  wake.arm(NOON + TEN_MINUTES_MS);
  wake.note(NOON + BACK_OFF_MS);
  wake.armNoted();
  expect(alarms).toEqual([NOON]);
  wake.end(NOON + 2 * BACK_OFF_MS);
  expect(alarms).toEqual([NOON, NOON + BACK_OFF_MS]);
});

test("work that somebody asks for moves an alarm that is set only to an earlier time", async () => {
  vi.useFakeTimers({ now: NOON });
  const { wake, alarms } = await newWake();
  wake.arm(NOON + BACK_OFF_MS);
  await wake.begin();
  wake.arm(NOON + TEN_MINUTES_MS);
  expect(alarms).toEqual([NOON + BACK_OFF_MS]);
  wake.arm(NOON + 1);
  wake.end(NOON + TEN_MINUTES_MS);
  expect(alarms).toEqual([NOON + BACK_OFF_MS, NOON + 1]);
});
