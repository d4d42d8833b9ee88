import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { closedBecause, openingAt, parseHours } from "../../../domain/fleet/hours.ts";
import { DAY_MS, MINUTE_MS } from "../../../domain/words/duration.ts";

const BERLIN = "Europe/Berlin";
const NIGHTS = "Mon-Fri 19:00-07:00";

const at = (iso: string): number => Date.parse(iso);
const iso = (instant: number | null): string | null => (instant === null ? null : new Date(instant).toISOString());

/** Open or closed, until when. */
const stateOf = (hours: string, timezone: string, when: string): [boolean, string | null] => {
  const { isOpen, changesAt } = openingAt(hours, timezone, at(when));
  return [isOpen, iso(changesAt)];
};

describe("hours", () => {
  it.each([
    // A Wednesday in winter: Berlin is an hour ahead of UTC.
    ["2026-01-14T12:00:00Z", false, "2026-01-14T18:00:00.000Z"],
    ["2026-01-14T18:00:00Z", true, "2026-01-15T06:00:00.000Z"],
    ["2026-01-15T05:59:59Z", true, "2026-01-15T06:00:00.000Z"],
    // The night of Friday ends on Saturday, and the next one begins on Monday.
    ["2026-01-17T05:00:00Z", true, "2026-01-17T06:00:00.000Z"],
    ["2026-01-17T06:00:00Z", false, "2026-01-19T18:00:00.000Z"],
    // In summer two hours ahead.
    ["2026-07-15T12:00:00Z", false, "2026-07-15T17:00:00.000Z"],
  ])("open at night on weekdays at %s: %s until %s", (when, isOpen, changesAt) => {
    expect(stateOf(NIGHTS, BERLIN, when)).toEqual([isOpen, changesAt]);
  });

  it.each([
    ["Sat,Sun 00:00-24:00", "2026-01-16T12:00:00Z", false, "2026-01-17T00:00:00.000Z"],
    ["Sat,Sun 00:00-24:00", "2026-01-17T12:00:00Z", true, "2026-01-19T00:00:00.000Z"],
    ["Fri-Mon 00:00-24:00", "2026-01-18T12:00:00Z", true, "2026-01-20T00:00:00.000Z"],
    ["mon 08:00-10:00; tue 9:00 - 11:00", "2026-01-13T08:30:00Z", false, "2026-01-13T09:00:00.000Z"],
    ["22:00-06:00", "2026-01-18T23:00:00Z", true, "2026-01-19T06:00:00.000Z"],
    ["Sun 22:00-06:00", "2026-01-19T05:00:00Z", true, "2026-01-19T06:00:00.000Z"],
    ["Mon-Sun 00:00-24:00", "2026-01-19T05:00:00Z", true, null],
  ])("%s at %s in UTC", (hours, when, isOpen, changesAt) => {
    expect(stateOf(hours, "UTC", when)).toEqual([isOpen, changesAt]);
  });

  it("begin after a gap where the clocks skip their beginning, and are left out where they skip them all", () => {
    // On 2026-03-29 at 02:00 the clocks of Berlin go to 03:00, at 01:00 UTC.
    expect(stateOf("Sun 02:15-04:00", BERLIN, "2026-03-29T00:30:00Z")).toEqual([false, "2026-03-29T01:00:00.000Z"]);
    expect(stateOf("Sun 02:15-02:45", BERLIN, "2026-03-29T00:30:00Z")).toEqual([false, "2026-04-05T00:15:00.000Z"]);
  });

  it("open and close once where the clocks repeat a time", () => {
    // On 2026-10-25 at 03:00 the clocks of Berlin go back to 02:00, at 01:00 UTC.
    expect(stateOf("Sun 02:15-02:45", BERLIN, "2026-10-25T00:00:00Z")).toEqual([false, "2026-10-25T00:15:00.000Z"]);
    expect(stateOf("Sun 02:15-02:45", BERLIN, "2026-10-25T00:45:00Z")).toEqual([false, "2026-11-01T01:15:00.000Z"]);
    expect(stateOf("Sat 19:00-03:00", BERLIN, "2026-10-25T00:59:00Z")).toEqual([true, "2026-10-25T02:00:00.000Z"]);
    expect(stateOf("Sun 03:00-05:00", BERLIN, "2026-10-25T01:30:00Z")).toEqual([false, "2026-10-25T02:00:00.000Z"]);
  });

  it("say until when, with the day if that is more than a day ahead", () => {
    const words = (when: string) => closedBecause(openingAt(NIGHTS, BERLIN, at(when)), at(when));
    expect(words("2026-01-14T12:00:00Z")).toBe("outside its hours until 19:00 Europe/Berlin");
    expect(words("2026-01-17T08:00:00Z")).toBe("outside its hours until Mon 19:00 Europe/Berlin");
    expect(words("2026-01-14T20:00:00Z")).toBeNull();
  });

  it("hold at their instant, before anybody computes them again", () => {
    const opening = openingAt(NIGHTS, BERLIN, at("2026-01-14T20:00:00Z"));
    expect(closedBecause(opening, at("2026-01-15T06:00:00Z"))).toBe("outside its hours until 19:00 Europe/Berlin");
    const closed = openingAt(NIGHTS, BERLIN, at("2026-01-14T12:00:00Z"));
    expect(closedBecause(closed, at("2026-01-14T18:00:00Z"))).toBeNull();
  });

  it("hold after several changes that nobody computed, as when a server was off overnight", () => {
    const closed = openingAt(NIGHTS, BERLIN, at("2026-01-14T12:00:00Z"));
    expect(closedBecause(closed, at("2026-01-15T12:00:00Z"))).toBe("outside its hours until 19:00 Europe/Berlin");
    expect(closedBecause(closed, at("2026-01-15T18:30:00Z"))).toBeNull();
    expect(closedBecause(closed, at("2026-01-17T08:00:00Z"))).toBe("outside its hours until Mon 19:00 Europe/Berlin");
    const open = openingAt(NIGHTS, BERLIN, at("2026-01-14T20:00:00Z"));
    expect(closedBecause(open, at("2026-01-15T20:00:00Z"))).toBeNull();
  });

  it("hold on a clock that was set back to before their last change", () => {
    const open = openingAt(NIGHTS, BERLIN, at("2026-01-14T18:00:00Z"));
    expect(closedBecause(open, at("2026-01-14T17:30:00Z"))).toBe("outside its hours until 19:00 Europe/Berlin");
    expect(closedBecause(open, at("2026-01-14T17:00:00Z"))).toBe("outside its hours until 19:00 Europe/Berlin");
    expect(closedBecause(open, at("2026-01-14T18:00:00Z"))).toBeNull();
  });

  it.each([
    ["", "cannot be read"],
    ["Mon-Fri", "cannot be read"],
    ["Mon-Fri 19:00", "cannot be read"],
    ["Mo 19:00-20:00", "unknown days"],
    ["Mon-Tue-Wed 19:00-20:00", "unknown days"],
    ["Mon 24:00-25:00", "no day has"],
    ["Mon 10:60-11:00", "no day has"],
    ["Mon 10:00-10:00", "empty window"],
    ["Mon 10:00-11:00;", "cannot be read"],
    [Array(21).fill("Mon 10:00-11:00").join(";"), "at most 20"],
  ])("%j are refused", (hours, why) => {
    expect(parseHours(hours)).toMatchObject({ ok: false, error: expect.stringContaining(why) });
  });

  const pad = (value: number): string => String(value).padStart(2, "0");
  const time = fc.integer({ min: 0, max: 1439 }).map((minute) => `${pad(Math.floor(minute / 60))}:${pad(minute % 60)}`);
  const day = fc.constantFrom("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun");
  const window = fc
    .tuple(fc.uniqueArray(day, { minLength: 1 }), time, time)
    .filter(([, start, end]) => start !== end)
    .map(([days, start, end]) => `${days.join(",")} ${start}-${end}`);

  it("keep their state until the instant that they name, and have the other one there", () => {
    fc.assert(
      fc.property(
        fc.array(window, { minLength: 1, maxLength: 4 }).map((windows) => windows.join("; ")),
        fc.constantFrom("UTC", BERLIN, "America/St_Johns", "Australia/Lord_Howe", "Asia/Kolkata"),
        fc.integer({ min: at("2026-01-01T00:00:00Z"), max: at("2027-01-01T00:00:00Z") }),
        fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
        (hours, timezone, nowAt, share) => {
          const { isOpen, changesAt } = openingAt(hours, timezone, nowAt);
          const untilAt = changesAt ?? nowAt + 7 * DAY_MS;
          expect(untilAt).toBeGreaterThan(nowAt);
          const between = openingAt(hours, timezone, nowAt + Math.floor((untilAt - nowAt) * share));
          expect([between.isOpen, between.changesAt]).toEqual([isOpen, changesAt]);
          if (changesAt === null) return;
          expect(openingAt(hours, timezone, changesAt).isOpen).toBe(!isOpen);
          expect(changesAt % MINUTE_MS).toBe(0);
        },
      ),
      { numRuns: 150 },
    );
  });
});
