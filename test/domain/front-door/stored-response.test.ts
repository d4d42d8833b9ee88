import { expect, test } from "vitest";
import {
  carriedItemsOf,
  inputItemsOf,
  jobIdOfResponse,
  MAX_CHAIN_BYTES,
  MAX_CHAIN_TURNS,
  mayFollow,
  responseIdOf,
  type StoredResponse,
} from "../../../domain/front-door/stored-response.ts";

const COMPLETED = { status: "completed", error: null, answerFile: null } as const;
const response = (more: Partial<StoredResponse> = {}): StoredResponse => ({
  id: "j1",
  keyId: "k1",
  isBackground: false,
  previousId: null,
  turns: 1,
  chainBytes: 100,
  inputFile: null,
  createdAt: 0,
  expiresAt: 1,
  end: COMPLETED,
  ...more,
});

test("a response is its job by another name", () => {
  expect(jobIdOfResponse(responseIdOf("j1"))).toBe("j1");
  expect(jobIdOfResponse("j1")).toBe("j1");
});

test.each([
  ["is complete", {}, null],
  ["is not complete yet", { end: null }, "not complete yet"],
  ["failed", { end: { ...COMPLETED, status: "failed" as const } }, "it failed"],
  ["was cancelled", { end: { ...COMPLETED, status: "cancelled" as const } }, "it was cancelled"],
  ["is the last turn but one", { turns: MAX_CHAIN_TURNS - 1 }, null],
  ["is the last turn of a chain", { turns: MAX_CHAIN_TURNS }, "at most 100 turns"],
  ["fills its chain", { chainBytes: MAX_CHAIN_BYTES }, null],
  ["is beyond its chain's bytes", { chainBytes: MAX_CHAIN_BYTES + 1 }, "at most 8388608 bytes"],
])("a request may follow a response that %s: %j", (_, more, refused) => {
  const allowed = mayFollow(response(more));
  if (refused === null) expect(allowed.ok).toBe(true);
  else
    expect(allowed).toMatchObject({
      error: {
        code: "invalid_request",
        errors: [{ path: "previous_response_id", message: expect.stringContaining(refused) }],
      },
    });
});

test("an input is a list of items, a text one message of the user", () => {
  expect(inputItemsOf("hi")).toEqual([{ type: "message", role: "user", content: "hi" }]);
  expect(inputItemsOf([1, 2])).toEqual([1, 2]);
  expect(inputItemsOf(undefined)).toEqual([]);
});

test("the next turn carries an answer's items, but no thoughts that nobody else can read", () => {
  const call = { type: "function_call", call_id: "c1" };
  const empty = { type: "reasoning", summary: [{ text: "short" }], content: [] };
  const sealed = { ...empty, encrypted_content: "x" };
  const open = { ...empty, content: [{ type: "reasoning_text", text: "long" }] };
  expect(carriedItemsOf({ output: [empty, sealed, open, call] })).toEqual([sealed, open, call]);
  expect(carriedItemsOf({})).toEqual([]);
  expect(carriedItemsOf(null)).toEqual([]);
});
