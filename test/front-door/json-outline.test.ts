// What the edge reads of a body over 1 MiB: the same as a parser, but for the rest of long texts.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_JSON_DEPTH, MAX_JSON_VALUES, MAX_JSON_WORDS } from "../../contract/words/json-bounds.ts";
import { JsonOutline, MAX_LARGE_BODY_TEXTS } from "../../src/front-door/request/json-outline.ts";

const outlineOf = (body: string | Uint8Array, chunkBytes: number, wanted: readonly string[] = ["model"]) => {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const outline = new JsonOutline(wanted);
  for (let at = 0; at < bytes.length; at += chunkBytes) outline.push(bytes.subarray(at, at + chunkBytes));
  const value = outline.finish();
  const members = [...outline.members].map(([name, { from, to }]) => [
    name,
    JSON.parse(new TextDecoder().decode(bytes.subarray(from, to))),
  ]);
  return { value, members: Object.fromEntries(members) };
};

const refusalOf = (body: string | Uint8Array): string => {
  try {
    outlineOf(body, 7);
  } catch (error) {
    return String((error as { refusal: { detail: string } }).refusal.detail);
  }
  return "taken";
};

describe("the outline of a body", () => {
  const body = {
    messages: [{ role: "user", content: [{ type: "text", text: 'é "quoted" \\ 😀 \n' }, {}, [], [[1, -2.5e3]]] }],
    model: "m1",
    "mod\\el": { model: "inner", stop: [",", "}", "{"] },
    stream: true,
    last: null,
  };

  it.each([1, 2, 3, 7, 1_000])("is the body where its texts are short, in chunks of %i bytes", (chunkBytes) => {
    for (const text of [JSON.stringify(body), JSON.stringify(body, null, 2)]) {
      const { value, members } = outlineOf(text, chunkBytes, ["model", "stream", "absent"]);
      expect(value).toEqual(body);
      expect(members).toEqual({ model: "m1", stream: true });
    }
  });

  it.each([1, 5, 4_096])("has the beginning of a long text, in chunks of %i bytes", (chunkBytes) => {
    for (const unit of ["x", "é", "😀", '\\"', "\\u00e9"]) {
      const text = unit.repeat(9_000);
      const { value, members } = outlineOf(`{"a":"${text}","model":"m1"}`, chunkBytes);
      const { a, model } = value as { a: string; model: string };
      expect(model).toBe("m1");
      expect(members).toEqual({ model: "m1" });
      expect((JSON.parse(`"${text}"`) as string).startsWith(a)).toBe(true);
      expect(a.length).toBeGreaterThan(500);
      expect(a.length).toBeLessThan(4_100);
    }
  });

  it.each([
    ['{"edge":true,"model":"m1"}', '{"model":"m1"}'],
    ['{"model":"m1","edge":false}', '{"model":"m1"}'],
    ['{"a":[1,{"edge":1}] , "\\u0065dge" : {"b":[1,2]} , "model":"m1"}', '{"a":[1,{"edge":1}] , "model":"m1"}'],
    ['{"model":"m1" , "edge" : null }', '{"model":"m1" }'],
  ])("says what to leave out for a body to be without a member: %s", (body, without) => {
    for (const chunkBytes of [1, 4, 100]) {
      const outline = new JsonOutline(["edge"]);
      const bytes = new TextEncoder().encode(body);
      for (let at = 0; at < bytes.length; at += chunkBytes) outline.push(bytes.subarray(at, at + chunkBytes));
      const { from, to } = outline.members.get("edge")?.whole ?? { from: 0, to: 0 };
      const left = body.slice(0, from) + body.slice(to);
      expect(JSON.parse(left)).toEqual(JSON.parse(without));
    }
  });

  it("finds a member whose name is written with escapes", () => {
    expect(outlineOf('{"mod\\u0065l" : "m1" }', 3).members).toEqual({ model: "m1" });
  });

  it("has the first digit of a number, of very many numbers", () => {
    const numbers = Array.from({ length: 10_000 }, (_, index) => index / 7 - 100);
    const { value } = outlineOf(JSON.stringify({ model: "m", numbers, last: [-12, 0.5, 7e-12] }), 1_000);
    const kept = (value as { numbers: number[] }).numbers;
    expect(kept.slice(0, 4_096)).toEqual(numbers.slice(0, 4_096));
    expect(kept.slice(4_096)).toEqual(numbers.slice(4_096).map((number) => Number(String(number)[0])));
    expect(value).toMatchObject({ model: "m", last: [-1, 0, 7] });
  });

  it.each([1, 3, 1_000])(
    "after very many numbers it takes what a parser takes, in chunks of %i bytes",
    (chunkBytes) => {
      const many = "0,".repeat(4_096);
      const token = fc.constantFrom(
        "0",
        "1",
        "42",
        "-",
        "+",
        ".",
        "e",
        "E",
        ",",
        " ",
        "[",
        "]",
        "true",
        '"1.5"',
        "1.5e-3",
      );
      const isTaken = (read: () => unknown): boolean => {
        try {
          read();
          return true;
        } catch {
          return false;
        }
      };
      fc.assert(
        fc.property(fc.array(token, { maxLength: 8 }), (tokens) => {
          const text = `{"a":[${many}${tokens.join("")}]}`;
          expect(isTaken(() => outlineOf(text, chunkBytes))).toBe(isTaken(() => JSON.parse(text)));
        }),
        { numRuns: chunkBytes === 1 ? 200 : 1_000 },
      );
    },
  );

  it("keeps little of texts in lists once it has much", () => {
    const message = JSON.stringify({ role: "user", content: "y".repeat(500) });
    const many = Array.from({ length: 20_000 }, () => message).join(",");
    const { value } = outlineOf(`{"messages":[${many}],"model":"${"m".repeat(100)}"}`, 65_536);
    const { messages, model } = value as { messages: { content: string }[]; model: string };
    expect([messages.length, messages[0]?.content.length, messages.at(-1)?.content.length]).toEqual([20_000, 500, 32]);
    expect(model.length).toBe(100);
  });
});

describe("a body is refused", () => {
  const LONG = "x".repeat(5_000);

  it.each([
    ["with more values than the bound", `[${"1,".repeat(MAX_JSON_VALUES)}1]`, "must not have more than 320000 values"],
    ["with more empty objects than the bound", `[${"{},".repeat(MAX_JSON_VALUES / 2)}{}]`, "must not have more than"],
    [
      "with more different short texts than the bound",
      JSON.stringify(Array.from({ length: 2 * MAX_JSON_WORDS }, (_, index) => `w${index}`)),
      "must not have more than 32768 different names and texts",
    ],
    [
      "with more different short texts in another script than the bound",
      JSON.stringify(Array.from({ length: 2 * MAX_JSON_WORDS }, (_, index) => `\u6f22\u5b57${index}`)),
      "must not have more than 32768 different names and texts",
    ],
    [
      "with more different long names than the bound",
      JSON.stringify(Array.from({ length: 2 * MAX_JSON_WORDS }, (_, index) => ({ [`a longer name ${index}`]: 1 }))),
      "must not have more than 32768 different names and texts",
    ],
    [
      "with more texts than the bound",
      JSON.stringify(Array(MAX_LARGE_BODY_TEXTS + 1).fill("the same text")),
      "at most 131072 texts and names if it is over 1 MiB",
    ],
    ["with a malformed number among very many", `[${"0,".repeat(5_000)}1.5.3]`, "must be JSON: a number is malformed"],
    ["that is too deep for a moment", `${"[".repeat(65)}${"]".repeat(65)}`, "must not nest deeper than 64 levels"],
    ["that is too deep", "[".repeat(MAX_JSON_DEPTH + 1), "must not nest deeper than 64 levels"],
    ["with two models", '{"model":"a","model":"b"}', "model: is given more than once"],
    ["with two models, one of them escaped", '{"model":"a","m\\u006fdel":"b"}', "model: is given more than once"],
    ["that is not JSON", '{"model":"a",}', "must be JSON"],
    ["that ends early", `{"model":"${LONG}`, "must be JSON"],
    [
      "with a control character in what is left out",
      `{"a":"${LONG}\n"}`,
      "must be JSON: a text has a control character",
    ],
    ["with an odd escape in what is left out", `{"a":"${LONG}\\x"}`, "must be JSON: a text has a malformed escape"],
    [
      "with half an escape in what is left out",
      `{"a":"${LONG}\\u12g4"}`,
      "must be JSON: a text has a malformed escape",
    ],
    ["that is not UTF-8", new Uint8Array([0x7b, 0x22, 0xff]), "must be UTF-8"],
    ["that ends within a character", new Uint8Array([0x22, 0xc3]), "must be UTF-8"],
  ])("%s", (_, body, said) => {
    expect(refusalOf(body)).toContain(said);
  });
});
