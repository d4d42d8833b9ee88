// The search line of the jobs page: the same filter as text, as API fields, and as a test of live jobs.

import { describe, expect, it } from "vitest";
import type { LiveJob } from "../../../contract/live.ts";
import {
  completions,
  filterIn,
  formatSearch,
  matches,
  mistypedField,
  parseSearch,
} from "../../../dashboard/state/job-filter.ts";
import { rangeInWords, withRange } from "../../../dashboard/state/time-range.ts";

const job = (given: Partial<LiveJob>): LiveJob =>
  ({
    id: "j",
    prompt_start: "",
    error: null,
    tags: [],
    metadata: {},
    provider: null,
    ran_provider: null,
    ...given,
  }) as LiveJob;

describe("the search line", () => {
  it("is fields, values in quotes, metadata, and words for what is left", () => {
    expect(parseSearch('error:500 ran:openai slow train tag:a:b worker:"my box" metadata.team:ml')).toEqual({
      error_code: "500",
      ran_provider: "openai",
      q: "slow train",
      tag: "a:b",
      worker: "my box",
      "metadata.team": "ml",
    });
  });

  it("takes what names no field as words, and a field without a value as nothing yet", () => {
    expect(parseSearch("http://host constructor:x error:")).toEqual({ q: "http://host constructor:x" });
    expect(parseSearch("  ")).toEqual({});
  });

  it("takes a state that is typed, which the line does not say again", () => {
    expect(parseSearch("late status:failed tag:eu")).toEqual({ q: "late", status: "failed", tag: "eu" });
    expect(formatSearch(parseSearch("late status:failed tag:eu"))).toBe("late tag:eu");
    expect(parseSearch("status:lost")).toEqual({ q: "status:lost" });
  });

  it("knows a mistyped field, and what was probably meant", () => {
    expect(mistypedField("eror:500")).toEqual({ said: "eror", nearest: "error" });
    expect(mistypedField("colour:red")).toEqual({ said: "colour", nearest: null });
    expect(mistypedField('provider:openai "time: now" words')).toBeNull();
  });

  it("comes back as it was", () => {
    for (const line of ["words only", "late error:500 ran:openai", 'worker:"my box"', "metadata.team:ml"])
      expect(formatSearch(parseSearch(line))).toBe(line);
  });

  it("completes its last word alone", () => {
    expect(completions("late er", {})).toEqual(["late error:"]);
    expect(completions("ran:o", { ran: ["openai", "ollama", "anthropic"] })).toEqual(["ran:openai", "ran:ollama"]);
    expect(completions("ran:openai", { ran: ["openai"] })).toEqual([]);
  });

  it("takes from an address what the API knows, and nothing else", () => {
    const query = new URLSearchParams("status=failed&error_code=x&offset=50&waits=y&toString=1&status2=z&metadata.a=b");
    expect(filterIn(query)).toEqual({ status: "failed", error_code: "x", "metadata.a": "b" });
    expect(filterIn(new URLSearchParams("status=lost&since=junk&until=%F0"))).toEqual({});
    expect(filterIn(new URLSearchParams("since=2026-11-01T00:00:00Z"))).toEqual({ since: "2026-11-01T00:00:00Z" });
  });
});

describe("a live job", () => {
  it("matches the provider it asks for and the provider that ran it, like the API's filter", () => {
    expect(matches(job({ provider: "pa" }), { provider: "pa" })).toBe(true);
    expect(matches(job({ ran_provider: "pa" }), { provider: "pa" })).toBe(true);
    expect(matches(job({ provider: "pb" }), { provider: "pa" })).toBe(false);
  });

  it("matches by the code or the status of its error, by words, and by metadata", () => {
    const failed = job({
      error: { code: "x", message: "Upstream late", status: 500, retryable: true },
      metadata: { a: "b" },
    });
    expect(matches(failed, { error_code: "500", q: "upstream", "metadata.a": "b" })).toBe(true);
    expect(matches(failed, { "metadata.a": "c" })).toBe(false);
  });

  it("matches as unpriced where it used tokens and nobody knows what they cost", () => {
    const usage = { input_tokens: 1, output_tokens: 1 };
    expect(matches(job({ usage, cost_usd: null }), { unpriced: "true" })).toBe(true);
    expect(matches(job({ usage, cost_usd: 0.5 }), { unpriced: "true" })).toBe(false);
    expect(matches(job({ usage: null, cost_usd: null }), { unpriced: "true" })).toBe(false);
    const ended = job({
      usage,
      cost_usd: null,
      created_at: "2026-01-01T23:59:00.000Z",
      finished_at: "2026-01-02T00:01:00.000Z",
    });
    const day = { unpriced_since: "2026-01-02T00:00:00.000Z", unpriced_until: "2026-01-03T00:00:00.000Z" };
    expect(matches(ended, day)).toBe(true);
    expect(matches(ended, { since: day.unpriced_since })).toBe(false);
    expect(matches(job({ usage, cost_usd: null, finished_at: null }), day)).toBe(false);
    expect(parseSearch("unpriced:true draft")).toEqual({ unpriced: "true", q: "draft" });
  });
});

describe("a range of time", () => {
  it("is fixed to a minute when it is asked, and read in words", () => {
    const nowAt = Date.UTC(2026, 0, 1, 12, 30, 29);
    expect(withRange({}, "1h", nowAt)).toEqual({ since: "2026-01-01T11:30:00.000Z" });
    expect(withRange({ tag: "a" }, "nonsense", nowAt)).toEqual({ tag: "a" });
    expect(rangeInWords({})).toBe("created at any time");
  });

  it("is a day of the reader's, whichever length the clocks give it", () => {
    const midnight = (day: number): string => new Date(2026, 9, day).toISOString();
    // In much of Europe the 25th has 25 hours.
    const nowAt = new Date(2026, 9, 26, 9, 30).getTime();
    expect(withRange({}, "today", nowAt)).toEqual({ since: midnight(26) });
    expect(withRange({ tag: "a" }, "yesterday", nowAt)).toEqual({ tag: "a", since: midnight(25), until: midnight(26) });
    expect(withRange({}, "yesterday", new Date(2026, 2, 1, 0, 0).getTime())).toEqual({
      since: new Date(2026, 1, 28).toISOString(),
      until: new Date(2026, 2, 1).toISOString(),
    });
  });
});
