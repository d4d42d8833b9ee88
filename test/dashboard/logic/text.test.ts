// The dashboard's formatting: diffs, durations, money, tags, addresses.

import { describe, expect, it } from "vitest";
import type { AttemptResource } from "../../../contract/jobs/insight.ts";
import { priceText } from "../../../dashboard/catalog/catalog-history.tsx";
import {
  aheadIn,
  axisDuration,
  axisTime,
  bothZones,
  clock,
  dateTime,
  duration,
  price,
  relative,
  shortened,
  splitTags,
  trimmed,
  usd,
  wholePercent,
} from "../../../dashboard/format.ts";
import { costOf } from "../../../dashboard/jobs/story/attempt-facts.tsx";
import { speed } from "../../../dashboard/overview/latency-panel.tsx";
import { percent, rateOf } from "../../../dashboard/overview/tiles.tsx";
import { byReason, sharedReasons } from "../../../dashboard/parts/by-reason.ts";
import { pathOf } from "../../../dashboard/parts/charts/plot.tsx";
import { EMPTY_JOB, jsonError, toBody } from "../../../dashboard/parts/job-fields.ts";
import { href, parsePlace } from "../../../dashboard/router.ts";
import { diffLines, shortDiff } from "../../../dashboard/settings/diff.ts";
import { limitsInWords } from "../../../dashboard/settings/key-limits.tsx";

it("a duration on an axis is a figure, however short", () => {
  expect([0, 0.25, 0.5, 1, 1500].map(axisDuration)).toEqual(["0", "0.3 ms", "0.5 ms", "1 ms", "1.5 s"]);
});

it("a text of nothing but space, or characters of no width, is blank", () => {
  const family = "\u{1f468}\u200d\u{1f469}";
  expect([" \n", "\u200b", "\u2060\u00ad \ufeff", ` ${family} `].map(trimmed)).toEqual(["", "", "", family]);
});

it("a key's limits are read in words, with large figures in groups and money as elsewhere", () => {
  const limits = { requests_per_minute: 600, tokens_per_minute: 100_000, day_usd: 0.0004, per_user: { day_usd: 2.5 } };
  expect(limitsInWords(limits)).toBe(
    "600 requests per minute · 100,000 tokens per minute · $0.0004 per day · $2.50 of each user per day",
  );
});

describe("an instant", () => {
  const at = Date.parse("2026-10-25T00:59:09.250Z");

  const inZone = <T>(zone: string, read: () => T): T => {
    const before = process.env.TZ;
    process.env.TZ = zone;
    try {
      return read();
    } finally {
      if (before === undefined) delete process.env.TZ;
      else process.env.TZ = before;
    }
  };

  it.each([
    ["Europe/Berlin", "02:59:09", "25 Oct"],
    ["Asia/Kolkata", "06:29:09", "25 Oct"],
    ["America/New_York", "20:59:09", "24 Oct"],
    ["UTC", "00:59:09", "25 Oct"],
  ])("in %s is by the reader's clock", (zone, time, day) => {
    const read = () => [clock(at), axisTime(at, false, false), axisTime(at, true, false), bothZones(at)];
    const both = `${day} 2026, ${time} here · 2026-10-25 00:59:09.250 UTC`;
    expect(inZone(zone, read)).toEqual([time, time.slice(0, 5), day, both]);
  });

  it("on an axis of days is by UTC where its figures are", () => {
    expect(inZone("America/New_York", () => axisTime(at, true, true))).toBe("25 Oct");
  });

  it("has its year where that is not the present one, and is by another zone's clock, also when that is set back", () => {
    const old = Date.parse("1999-03-01T12:00:00Z");
    expect(inZone("UTC", () => dateTime(old))).toBe("Mon 1 Mar 1999, 12:00:00");
    const inBerlin = [at, at + 3_600_000].map((each) => dateTime(each, aheadIn("Europe/Berlin", each)));
    expect(inBerlin.map((text) => text.slice(-8))).toEqual(["02:59:09", "02:59:09"]);
    expect(() => aheadIn("Europe/Nowhere", at)).toThrow(RangeError);
  });
});

describe("refusals", () => {
  const rests = (at: string) => ({
    reasons: ["missing tag gpu", `paused: it rests until ${at}, or until it is resumed`],
  });

  it("that differ only in their times are one, with the first and the last of these", () => {
    const [first = "", last = ""] = ["2026-11-23T13:17:51.000Z", "2026-11-23T13:18:07.000Z"];
    const all = [{ reasons: ["at capacity"] }, rests(last), rests(first), rests(last)];
    const words = `missing tag gpu; paused: it rests until ${dateTime(Date.parse(first))} to ${dateTime(Date.parse(last))}, or until it is resumed`;
    expect(byReason(all).map(([reason, group]) => [reason, group.length])).toEqual([
      [words, 3],
      ["at capacity", 1],
    ]);
  });

  it("say what all have in common once, and of one worker nothing is in common", () => {
    const [full, away] = [{ reasons: ["missing tag gpu", "at capacity"] }, { reasons: ["offline", "missing tag gpu"] }];
    expect(sharedReasons([full, away, full])).toEqual(["missing tag gpu"]);
    expect(sharedReasons([full, { reasons: ["offline"] }])).toEqual([]);
    expect(sharedReasons([full])).toEqual([]);
  });

  it("with one time say it once", () => {
    const at = "2026-11-23T13:17:51.000Z";
    expect(byReason([rests(at), rests(at)])[0]?.[0]).not.toContain(" to ");
  });
});

describe("a diff", () => {
  const kinds = (before: string, after: string) => diffLines(before, after).map(({ kind, text }) => `${kind} ${text}`);

  it("keeps what is the same and names what is out and in", () => {
    expect(kinds("a\nb\nc", "a\nB\nc\nd")).toEqual(["same a", "out b", "in B", "same c", "in d"]);
  });

  it("gives back both texts", () => {
    const [before, after] = ["x\ny\nz\nz", "z\ny\nx\nz\nq"];
    const lines = diffLines(before, after);
    const of = (out: string) =>
      lines
        .filter(({ kind }) => kind === "same" || kind === out)
        .map(({ text }) => text)
        .join("\n");
    expect([of("out"), of("in")]).toEqual([before, after]);
  });

  it("is short where little changed", () => {
    const many = Array.from({ length: 100 }, (_, line) => `line ${line}`);
    const shown = shortDiff(diffLines(many.join("\n"), many.with(50, "changed").join("\n")));
    expect(shown.length).toBeLessThan(12);
    expect(shown[0]?.kind).toBe("gap");
  });
});

describe("numbers and times", () => {
  it("of little there is more than nothing", () => {
    expect([0, 0.0004, 0.0349, 0.5].map(percent)).toEqual(["0", "< 0.1", "3.5", "50"]);
    expect([0.42, 6.04, 41.6].map(speed)).toEqual(["0.42", "6", "42"]);
  });

  it("a rate is of the time that was counted, which is no whole hour", () => {
    const [from, to] = ["2026-01-31T12:05:00.000Z", "2026-01-31T13:00:00.000Z"];
    expect(rateOf({ from, to }, 550)).toEqual({ figure: "10", unit: "jobs / min" });
    expect(rateOf({ from, to }, 0)).toEqual({ figure: "0", unit: "jobs / min" });
  });

  it("a price is not rounded to cents, and has what a request costs and what a cache saves", () => {
    expect([0, 0.125, 0.0375, 3, 1234.5].map(price)).toEqual(["$0.00", "$0.125", "$0.0375", "$3.00", "$1,234.50"]);
    expect(priceText({ input_per_mtok: 0.125, output_per_mtok: 0.375, cached_input_per_mtok: 0.0125 })).toBe(
      "$0.125 in, $0.0125 in from a cache, $0.375 out",
    );
    expect(priceText({ input_per_mtok: 0, output_per_mtok: 0, per_request: 0.04 })).toBe(
      "$0.04 a request, $0.00 in, $0.00 out",
    );
  });

  it("a cost of tokens that nobody counted, or of a public price, is an estimate", () => {
    const attempt = { cost_usd: 0.25, usage: null } as unknown as AttemptResource;
    const said = ["reported", "config", "table", "estimate"].map((price_source) =>
      costOf({ ...attempt, price_source }),
    );
    expect(said).toEqual(["$0.25", "$0.25", "$0.25 (estimate)", "$0.25 (estimate)"]);
  });

  it("a percentage of whole parts is theirs, and 100 only of the whole", () => {
    const ofHundred = Array.from({ length: 101 }, (_, part) => part);
    expect(ofHundred.map((part) => wholePercent(part / 100))).toEqual(ofHundred);
    expect([2.9 / 10, 0.57, 99_999 / 100_000].map(wholePercent)).toEqual([29, 57, 99]);
  });

  it("keep small sums apart from nothing", () => {
    expect([usd(0), usd(0.4), usd(0.06025876), usd(0.0042), usd(0.000225), usd(1234.5)]).toEqual([
      "$0.00",
      "$0.40",
      "$0.0603",
      "$0.0042",
      "$0.000225",
      "$1,234.50",
    ]);
    expect(usd(2.5e-7)).toBe("under $0.000001");
  });

  it("read in words", () => {
    expect([duration(12), duration(1500), duration(90_000), duration(600_000)]).toEqual([
      "12 ms",
      "1.5 s",
      "90 s",
      "10 min 0 s",
    ]);
    // No part of them says 60.
    expect([duration(999.7), duration(9960), duration(179_700), duration(10_798_000)]).toEqual([
      "1.0 s",
      "10 s",
      "3 min 0 s",
      "3 h 0 min",
    ]);
    expect([relative(0, 12_000), relative(60_000, 0), relative(0, 7_200_000)]).toEqual([
      "12 s ago",
      "in 60 s",
      "2 h ago",
    ]);
  });
});

describe("an instant", () => {
  it("of another year says its year", () => {
    expect(dateTime(Date.UTC(2019, 5, 1, 12))).toContain("2019");
    expect(dateTime(Date.now())).not.toContain(String(new Date().getFullYear()));
  });
});

describe("a long text", () => {
  it("is shortened with a sign, and between characters", () => {
    expect(shortened("short", 5)).toBe("short");
    expect(shortened("abcdefgh", 5)).toBe("abcd…");
    expect(shortened("abc🚂defgh", 5)).toBe("abc…");
  });
});

describe("a line of a chart", () => {
  it("is interrupted where there is no value", () => {
    const scale = { xOf: (index: number) => index, yOf: (value: number) => value };
    expect(pathOf([1, 2, null, 3, null, null, 4, 5], scale)).toBe("M0.0,1.0L1.0,2.0M3.0,3.0M6.0,4.0L7.0,5.0");
  });
});

describe("a job's form", () => {
  it("sends only what was filled in", () => {
    expect(toBody({ ...EMPTY_JOB, prompt: "p", tags: "gpu, eu gpu" })).toEqual({
      prompt: "p",
      priority: "normal",
      tags: ["gpu", "eu"],
    });
    expect(toBody({ ...EMPTY_JOB, prompt: "p", input: "[1]", model: " m " })).toMatchObject({ input: [1], model: "m" });
  });

  it("says where input is no JSON", () => {
    expect(jsonError("")).toBeNull();
    expect(jsonError('{"a": 1}')).toBeNull();
    expect(jsonError("{a}")).toMatch(/^Not JSON: /);
  });

  it("takes tags by commas and spaces, each once", () => {
    expect(splitTags(" a,b ,, c a")).toEqual(["a", "b", "c"]);
  });
});

describe("an address", () => {
  it("carries any name, and comes back as it was", () => {
    const name = "odd/name ?&#%";
    expect(parsePlace(href(["fleet", name])).segments).toEqual(["fleet", name]);
    expect(parsePlace(href(["jobs"], { tag: "a&b", status: null })).query.toString()).toBe("tag=a%26b");
  });

  it("is survived when it is broken", () => {
    expect(parsePlace("#/jobs/%E0%A4%A").segments).toEqual(["jobs", "%E0%A4%A"]);
  });
});
