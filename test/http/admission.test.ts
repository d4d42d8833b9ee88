// What a request takes when it is admitted, it gives back in every case.

import { expect, it } from "vitest";
import type { Home } from "../../src/home.ts";
import { admit } from "../../src/http/admission.ts";
import type { AppContext } from "../../src/http/auth.ts";
import type { TokenFacts } from "../../src/http/key-format.ts";

const DOOR = { isBodiless: false, canWait: false, isOperator: false } as const;
const token = { tenant: "t", id: "k" } as TokenFacts;

const context = (home: Partial<Home>, headers: Record<string, string> = {}) =>
  ({
    env: { HOME: { addressOf: () => "192.0.2.1", takeTurn: () => null, expectWrite: () => () => undefined, ...home } },
    req: { header: (name: string) => headers[name], query: () => undefined },
  }) as unknown as AppContext;

it("a request whose turn does not come gives back its share, and its room on the disk", async () => {
  let expectedBytes = 0;
  const home: Partial<Home> = {
    takeTurn: () => Promise.reject(new Error("its turn did not come")),
    expectWrite: (bytes) => {
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
