// What a request takes when it is admitted, it gives back in every case.

import { expect, it } from "vitest";
import { presentRefusal } from "../../contract/refusal.ts";
import { MIB } from "../../domain/words/size.ts";
import type { Home } from "../../src/home.ts";
import { admit, asHeavy, inTurn, refusalOf } from "../../src/http/admission.ts";
import type { AppContext } from "../../src/http/auth.ts";
import type { TokenFacts } from "../../src/http/key-format.ts";

const DOOR = { isBodiless: false, canWait: false, isOperator: false } as const;
const token = { tenant: "t", id: "k" } as TokenFacts;

const context = (home: Partial<Home>, headers: Record<string, string> = {}) =>
  ({
    env: { HOME: { addressOf: () => "192.0.2.1", takeTurn: () => null, expectWrite: () => () => undefined, ...home } },
    req: { header: (name: string) => headers[name], query: () => undefined, param: () => "job" },
  }) as unknown as AppContext;

it("a request whose turn does not come gives back its share, and its room on the disk", async () => {
  let expectedBytes = 0;
  const home: Partial<Home> = {
    takeTurn: () => Promise.reject(new Error("its turn did not come")),
    expectWrite: (_, bytes) => {
      expectedBytes += bytes;
      return () => {
        expectedBytes -= bytes;
      };
    },
  };
  const headers = { "content-length": "500000" };
  for (let times = 0; times < 3; times += 1)
    await expect(admit(context(home, headers), DOOR, token)).rejects.toThrow("its turn did not come");
  expect(expectedBytes).toBe(0);
  const { underWay, share } = await admit(context({}), DOOR, token);
  expect(underWay).toBe(1);
  share.release();
});

it("a request counts for its key until it gives its share back", async () => {
  const first = await admit(context({}), DOOR, token);
  const second = await admit(context({}), DOOR, token);
  expect([first.underWay, second.underWay]).toEqual([1, 2]);
  first.share.release();
  expect((await admit(context({}), DOOR, token)).underWay).toBe(2);
});

it("a body of unknown length takes room on the disk as it arrives", async () => {
  const expected: number[] = [];
  const ended: number[] = [];
  const home: Partial<Home> = {
    expectWrite: (_, bytes) => {
      expected.push(bytes);
      return () => void ended.push(bytes);
    },
  };
  const door = { ...DOOR, maxBodyBytes: 32 * MIB };
  const { share } = await admit(context(home, { "transfer-encoding": "chunked" }), door, { ...token, id: "chunked" });
  expect(expected).toEqual([64 * 1024]);
  share.grow(MIB);
  share.release();
  expect(expected).toEqual([64 * 1024, MIB]);
  expect(ended).toEqual(expected);
});

it("an upload waits for its tenant's turn to store, whatever length it says", async () => {
  const turns: string[] = [];
  const home: Partial<Home> = {
    takeTurn: (_, work) => {
      turns.push(work);
      return null;
    },
  };
  const door = { ...DOOR, isUpload: true, isBodiless: true };
  for (const headers of [{ "content-length": "9" }, { "content-length": String(2 ** 29) }, {}])
    (await admit(context(home, headers), door, { ...token, id: "uploads" })).share.release();
  expect(turns).toEqual(["storing", "storing", "storing"]);
});

it("a download waits for its tenant's turn to begin, and keeps a place until its answer has ended", async () => {
  const steps: string[] = [];
  let answerEnds = (): void => undefined;
  const home: Partial<Home> = {
    takeTurn: async (_, work) => {
      steps.push(work);
      return () => void steps.push(`${work} ended`);
    },
    onAnswerEnd: (_, then) => {
      answerEnds = then;
    },
  };
  const taken = await admit(context(home), { ...DOOR, readsFile: true }, { ...token, id: "downloads" });
  taken.endTurn();
  answerEnds();
  taken.share.release();
  const ways = ["sent", "sending", "sending ended", "sent ended"];
  expect(steps.splice(0)).toEqual(ways);
  // By a link, which names the tenant only in its handler.
  await inTurn(context(home), "t", "sending", async () => undefined);
  answerEnds();
  expect(steps).toEqual(ways);
});

it("readers of one job are sixteen with one key; the next is refused before its tenant is asked, until one leaves", async () => {
  const door = { ...DOOR, lane: "waiting", readsJob: true } as const;
  const turns: string[] = [];
  const home: Partial<Home> = {
    takeTurn: (_, work) => {
      turns.push(work);
      return null;
    },
  };
  const open = async () => admit(context(home), door, { ...token, id: "reader" });
  const readers = [];
  for (let reader = 0; reader < 16; reader += 1) readers.push(await open());
  await expect(open()).rejects.toMatchObject({ refusal: { code: "too_many_readers", limit: 16 } });
  expect(turns).toEqual(Array.from({ length: 16 }, () => "opening"));
  readers[0]?.share.release();
  (await open()).share.release();
  for (const { share } of readers) share.release();
});

it("what requests read here counts as their bodies, and is read one tenant's turn after another", async () => {
  const steps: string[] = [];
  const takeTurn = async () => {
    steps.push("turn");
    return () => void steps.push("end");
  };
  const { share } = await admit(context({}), DOOR, token);
  const other = await admit(context({}), DOOR, token);
  const sharing = { ...context({ takeTurn }), get: () => share } as unknown as AppContext;
  const read = async () => void steps.push("read");
  await asHeavy(sharing, token, 6 * MIB, read);
  await expect(asHeavy(sharing, token, 6 * MIB, read)).rejects.toMatchObject({ refusal: { code: "rate_limited" } });
  await expect(asHeavy(sharing, token, 1, () => Promise.reject(new Error("gone")))).rejects.toThrow("gone");
  expect(steps).toEqual(["turn", "read", "end", "turn", "end"]);
  for (const one of [share, other.share]) one.release();
});

it("what is full is named: the tenant, or the process that serves many", () => {
  for (const full of ["isolate", "process"] as const)
    expect(presentRefusal(refusalOf(full), "")).toMatchObject({
      status: 503,
      detail: expect.stringMatching(/^the service is at its limit/),
    });
  expect(presentRefusal({ code: "overloaded", retryAfterSeconds: 1 }, "").detail).toMatch(
    /^this tenant is at its limit/,
  );
});
