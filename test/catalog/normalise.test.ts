import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type CatalogModel,
  diffModels,
  nextPage,
  normaliseRow,
  type ProviderDefinition,
  priceMoves,
  readRows,
} from "../../domain/catalog/catalog.ts";
import { isFieldPath, isListPath, readPath } from "../../domain/catalog/catalog-path.ts";

const config: ProviderDefinition = {
  provider: "acme",
  list_url: "https://models.acme.example/v1/models",
  method: "GET",
  local: false,
  response_path: "data[]",
  fields: { id: "id", name: "name", context_window: "limits.context" },
};

describe("a path", () => {
  it.each([
    [{ a: { b: 1 } }, "a.b", 1],
    [{ a: [{ b: 2 }] }, "a.0.b", 2],
    [{ a: [1] }, "a.1", undefined],
    [{ a: [1, 2] }, "a.1", 2],
    [{ a: [1] }, "a.length", undefined],
    [{ a: [1] }, "a.00", undefined],
    [{ a: null }, "a.b", undefined],
    [{ a: "text" }, "a.length", undefined],
    [{}, "constructor.name", undefined],
    [{}, "__proto__", undefined],
    [{}, "toString", undefined],
  ])("in %j at %s leads to %j", (value, path, expected) => {
    expect(readPath(value, path)).toBe(expected);
  });

  it("sees a key called __proto__ as the plain key that JSON makes of it", () => {
    expect(readPath(JSON.parse('{"__proto__": {"id": "x"}}'), "__proto__.id")).toBe("x");
  });

  it("is refused when it is no path", () => {
    const good = ["id", "a.b", "a.0.b", "a-b_c"];
    const bad = ["", ".", "a.", ".a", "a..b", "a[]", "a b", "a.b.c.d.e.f.g.h.i", "é"];
    expect(good.filter(isFieldPath)).toEqual(good);
    expect(bad.filter(isFieldPath)).toEqual([]);
    expect(["[]", "data[]", "a.b[]"].every(isListPath)).toBe(true);
    expect(["", "data", "data[].x", "a[]b[]", "[0]"].some(isListPath)).toBe(false);
  });
});

describe("a page", () => {
  it.each([
    [{ data: [{ id: "a" }] }, "data[]", 1],
    [[{ id: "a" }, { id: "b" }], "[]", 2],
    [{ data: [] }, "data[]", 0],
    [{ data: null }, "data[]", 0],
    [{ data: [{ id: "a" }], error: null }, "data[]", 1],
    [{ data: [{ id: "a" }], error: false }, "data[]", 1],
    [{ data: [{ id: "a" }], error: "" }, "data[]", 1],
    [{ data: [{ id: "a" }], errors: [] }, "data[]", 1],
    [{ data: [{ id: "a" }], errors: "" }, "data[]", 1],
    [{ result: { models: [{ id: "a" }] } }, "result.models[]", 1],
  ])("%j has its list at %s", (body, path, count) => {
    expect(readRows(body, path)).toEqual({ ok: true, rows: expect.any(Array) });
    const reading = readRows(body, path);
    expect(reading.ok && reading.rows.length).toBe(count);
  });

  it.each([
    [{ error: { message: "bad key" } }, "data[]"],
    [{ data: [], error: "Invalid API key" }, "data[]"],
    [[{ error: { code: 400 } }], "data[]"],
    [{ object: "error", message: "no" }, "data[]"],
    [{ errors: ["denied"], data: [] }, "data[]"],
    [{ data: {} }, "data[]"],
    [{ data: "models" }, "data[]"],
    [{ data: [] }, "[]"],
    [null, "[]"],
    ["text", "data[]"],
    [7, "data[]"],
    [{}, "data[]"],
  ])("%j is no list at %s, and never an empty one", (body, path) => {
    expect(readRows(body, path).ok).toBe(false);
  });

  it("does not repeat a provider's error, which may hold what was sent to it", () => {
    const reading = readRows({ error: { message: "Incorrect key sk-secret" } }, "data[]");
    expect(JSON.stringify(reading)).not.toContain("sk-secret");
  });
});

describe("what follows a page", () => {
  const withMore = { cursor_path: "last_id", cursor_param: "after_id", more_path: "has_more" };
  const cursorOnly = { cursor_path: "nextPageToken", cursor_param: "pageToken" };

  it.each([
    [{ has_more: true, last_id: "m9" }, withMore, { kind: "next", cursor: "m9" }],
    [{ has_more: false, last_id: "m9" }, withMore, { kind: "end" }],
    [{}, withMore, { kind: "end" }],
    [{ nextPageToken: "t" }, cursorOnly, { kind: "next", cursor: "t" }],
    [{ nextPageToken: 7 }, cursorOnly, { kind: "next", cursor: "7" }],
    [{ nextPageToken: "" }, cursorOnly, { kind: "end" }],
    [{ nextPageToken: null }, cursorOnly, { kind: "end" }],
    [{ data: [] }, undefined, { kind: "end" }],
    [{ has_more: false }, undefined, { kind: "end" }],
    [{ nextPageToken: "" }, undefined, { kind: "end" }],
    [{ next_page_token: null }, undefined, { kind: "end" }],
    [[], undefined, { kind: "end" }],
  ])("%j with %j is %j", (body, pagination, expected) => {
    expect(nextPage(body, pagination)).toEqual(expected);
  });

  it.each([
    [{ has_more: true }, withMore],
    [{ has_more: true, last_id: "" }, withMore],
    [{ has_more: true, last_id: {} }, withMore],
    [{ has_more: "yes", last_id: "m9" }, withMore],
    [{ last_id: "m9" }, withMore],
    [{ nextPageToken: { a: 1 } }, cursorOnly],
    [{ has_more: true }, undefined],
    [{ nextPageToken: "t" }, undefined],
    [{ next_page_token: "t" }, undefined],
  ])("%j with %j cannot be followed, and is no end", (body, pagination) => {
    expect(nextPage(body, pagination).kind).toBe("broken");
  });
});

describe("a row", () => {
  it.each([
    [
      { id: "a", name: "A", limits: { context: 8192 } },
      { id: "a", name: "A", context_window: 8192 },
    ],
    [{ id: 42 }, { id: "42", name: "42" }],
    [
      { id: "a", name: "" },
      { id: "a", name: "a" },
    ],
    [
      { id: "a", name: null },
      { id: "a", name: "a" },
    ],
    [
      { id: "a", name: 7 },
      { id: "a", name: "a" },
    ],
    [
      { id: "a", name: "b\u0007ell" },
      { id: "a", name: "a" },
    ],
    [
      { id: " a ", name: "A" },
      { id: " a ", name: "A" },
    ],
    [
      { id: "a", limits: { context: "163840" } },
      { id: "a", name: "a", context_window: 163840 },
    ],
    [
      { id: "a", limits: { context: "8" } },
      { id: "a", name: "a", context_window: 8 },
    ],
    [
      { id: "a", limits: { context: 256000.0 } },
      { id: "a", name: "a", context_window: 256000 },
    ],
    [
      { id: "a", limits: { context: "256000.0" } },
      { id: "a", name: "a", context_window: 256000 },
    ],
  ])("%j becomes %j", (row, model) => {
    expect(normaliseRow(row, config)).toEqual(model);
  });

  it.each([0, null, -1, 0.5, Number.NaN, 2 ** 53, "8k", "1e5", "0x10", "", true, {}, "99999999999999999"])(
    "has no context window when it says %j",
    (context) => {
      expect(normaliseRow({ id: "a", limits: { context } }, config)).toEqual({ id: "a", name: "a" });
    },
  );

  it.each([
    [null],
    ["a"],
    [[]],
    [{}],
    [{ id: null }],
    [{ id: "" }],
    [{ id: "  \t" }],
    [{ id: {} }],
    [{ id: true }],
    [{ id: "a\nb" }],
    [{ id: "a\u0000b" }],
    [{ id: "a\u202eb" }],
    [{ id: "\ud800" }],
    [{ id: "x".repeat(129) }],
  ])("%j names no usable model", (row) => {
    expect(normaliseRow(row, config)).toBeNull();
  });

  it("has its price where the provider's file says how to read it, and none where the row has none", () => {
    const priced = { ...config, pricing: { unit: "per_1m", input: "in", output: "out" } as const };
    const price = { input_nano_per_mtok: 1_000_000_000, output_nano_per_mtok: 2_000_000_000 };
    expect(normaliseRow({ id: "a", in: 1, out: 2 }, priced)).toEqual({ id: "a", name: "a", price });
    expect(Object.keys(normaliseRow({ id: "a" }, priced) ?? {})).toEqual(["id", "name"]);
  });

  it("may have an id of 128 characters, as long as a job can name", () => {
    expect(normaliseRow({ id: "x".repeat(128) }, config)?.id).toHaveLength(128);
  });

  it("may have the smallest context window there is", () => {
    expect(normaliseRow({ id: "a", limits: { context: 1 } }, config)).toMatchObject({ context_window: 1 });
  });

  it("loses the prefix that the provider's file strips, and is no model if nothing is left", () => {
    const stripping = { ...config, strip_prefix: "models/" };
    expect(normaliseRow({ id: "models/gemini-3" }, stripping)?.id).toBe("gemini-3");
    expect(normaliseRow({ id: "tuned/gemini-3" }, stripping)?.id).toBe("tuned/gemini-3");
    expect(normaliseRow({ id: "models/" }, stripping)).toBeNull();
  });

  it("keeps hostile markup as the text it is, and cuts an endless name", () => {
    expect(normaliseRow({ id: "<script>alert(1)</script>" }, config)?.id).toBe("<script>alert(1)</script>");
    expect(normaliseRow({ id: "a", name: "n".repeat(9999) }, config)?.name).toHaveLength(256);
  });

  it("of any JSON never throws", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (row) => {
        const model = normaliseRow(row, config);
        expect(model === null || model.id.trim() !== "").toBe(true);
        readRows(row, "data[]");
        nextPage(row, undefined);
      }),
    );
  });
});

describe("a difference", () => {
  const model = fc.record(
    {
      id: fc.constantFrom("a", "b", "c", "d", "e"),
      name: fc.constantFrom("x", "y"),
      context_window: fc.constantFrom(1, 2),
    },
    { requiredKeys: ["id", "name"] },
  );
  const snapshot = fc
    .array(model, { maxLength: 8 })
    .map((models) => new Map<string, CatalogModel>(models.map((m) => [m.id, m as CatalogModel])));
  const shape = (models: ReadonlyMap<string, CatalogModel>) =>
    [...models.values()].sort((a, b) => (a.id < b.id ? -1 : 1));

  it("applied to the old list gives the new one", () => {
    fc.assert(
      fc.property(snapshot, snapshot, (before, after) => {
        const result = new Map(before);
        for (const change of diffModels(before, after)) {
          expect(change.before ?? undefined).toEqual(before.get(change.model_id));
          if (change.after === null) result.delete(change.model_id);
          else result.set(change.model_id, change.after);
        }
        expect(shape(result)).toEqual(shape(after));
      }),
    );
  });

  it("between equal lists is empty, in whatever order they come", () => {
    fc.assert(
      fc.property(snapshot, (models) => {
        expect(diffModels(models, new Map([...models].reverse()))).toEqual([]);
      }),
    );
  });

  it("comes in the order of the ids, whatever the provider's order is", () => {
    fc.assert(
      fc.property(snapshot, snapshot, (before, after) => {
        const ids = diffModels(before, after).map((change) => change.model_id);
        expect(ids).toEqual([...ids].sort());
      }),
    );
    const priced = (nano: number) =>
      new Map(
        ["b", "c", "a"].map((id) => [
          id,
          { id, name: id, price: { input_nano_per_mtok: nano, output_nano_per_mtok: 1 } },
        ]),
      );
    expect(priceMoves(priced(1), priced(2)).map((move) => move.model_id)).toEqual(["a", "b", "c"]);
  });

  it("sees every part of a price that moved", () => {
    const price = { input_nano_per_mtok: 1, output_nano_per_mtok: 2, cached_input_nano_per_mtok: 3, request_nano: 4 };
    const listed = (moved: Partial<typeof price>) =>
      new Map([["a", { id: "a", name: "a", price: { ...price, ...moved } }]]);
    for (const part of Object.keys(price))
      expect([part, priceMoves(listed({}), listed({ [part]: 9 })).length]).toEqual([part, 1]);
  });

  it("does not see a price, which moves by itself", () => {
    const priced = { id: "a", name: "a", price: { input_nano_per_mtok: 1, output_nano_per_mtok: 2 } };
    expect(diffModels(new Map([["a", { id: "a", name: "a" }]]), new Map([["a", priced]]))).toEqual([]);
    expect(diffModels(new Map(), new Map([["a", priced]]))).toEqual([
      { kind: "added", model_id: "a", before: null, after: priced },
    ]);
    const before = new Map([["a", { id: "a", name: "a" }]]);
    expect(priceMoves(before, new Map([["a", priced]]))).toEqual([
      { kind: "changed", model_id: "a", before: before.get("a"), after: priced },
    ]);
    expect(priceMoves(new Map([["a", priced]]), new Map([["a", { ...priced }]]))).toEqual([]);
    expect(priceMoves(before, new Map([["a", { ...priced, name: "b" }]]))).toEqual([]);
  });
});
