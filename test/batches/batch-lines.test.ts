// The lines in the object of a batch's file: whatever is asked twice, answered late or in any order, each line stands
// once in the output or the error file.

import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type LineCursor, MAX_BATCH_MODELS, type TakenLine } from "../../domain/batch/batch.ts";
import { MAX_LINES } from "../../domain/batch/batch-line.ts";
import type { LineAnswer } from "../../domain/batch/line-answer.ts";
import { BatchLines } from "../../durable-objects/files/batch-lines.ts";
import { SLICE_LINES } from "../../durable-objects/files/line-slice.ts";
import type { Sql } from "../../durable-objects/store/sql.ts";
import { storageOver } from "../support/sqlite-storage.ts";

const BATCH = "batch_1";
const ENDPOINT = "/v1/embeddings";
const utf8 = new TextEncoder();

const linesOf = (models: readonly string[]): string =>
  models
    .map((model, at) =>
      JSON.stringify({ custom_id: `é${at}`, method: "POST", url: ENDPOINT, body: { model, input: `${at % 3}` } }),
    )
    .join("\n");

const opened = (text: string, sql: Sql = storageOver(new DatabaseSync(":memory:")).sql) => {
  const bytes = utf8.encode(text);
  const lines = new BatchLines(sql);
  function* read(from: number, to: number): Generator<Uint8Array> {
    for (let at = from; at < to; at += 7) yield bytes.subarray(at, Math.min(to, at + 7));
  }
  const learn = () =>
    lines.learn({ batch: BATCH, bytes: bytes.byteLength, endpoint: ENDPOINT, models: null, aliases: {} }, read);
  return { lines, learn, read };
};

const answerTo = (line: number, how: LineAnswer["state"]): LineAnswer => ({
  line,
  state: how,
  jobId: `job-${line}-${how}`,
  status: how === "completed" ? 200 : 500,
  body: isLarge(line, how) ? null : JSON.stringify({ said: `ü${line}` }),
  resultFile: isLarge(line, how) ? { id: "file-1", bytes: 1 } : null,
});

/** Every third answer is kept in pieces. */
const isLarge = (line: number, how: LineAnswer["state"]): boolean => how === "completed" && line % 3 === 0;

const record = (lines: BatchLines, line: number, how: LineAnswer["state"]): void => {
  if (isLarge(line, how) && lines.awaits(BATCH, line))
    for (const [n, piece] of ['{"said":', `"ö${line}`, '"}'].entries())
      lines.putPiece(BATCH, line, n, utf8.encode(piece) as unknown as ArrayBuffer);
  lines.record(BATCH, [answerTo(line, how)]);
};

const textOf = (pieces: Iterable<Uint8Array>): string => Buffer.concat([...pieces]).toString("utf8");
const told = (text: string): { custom_id: string; error: unknown; response: { body: { said: string } } }[] =>
  text === ""
    ? []
    : text
        .trimEnd()
        .split("\n")
        .map((one) => JSON.parse(one));

const models = fc.array(fc.constantFrom("m1", "m2"), { minLength: 1, maxLength: 40 });
const state = fc.constantFrom("completed", "failed", "cancelled", "expired") as fc.Arbitrary<LineAnswer["state"]>;

test("a cursor gives out every line of a model once, those that begin alike together (property)", () => {
  fc.assert(
    fc.property(models, fc.integer({ min: 1, max: 5 }), (given, limit) => {
      const { lines, learn, read } = opened(linesOf(given));
      const learned = learn();
      expect(learn()).toEqual(learned);
      if (learned.is !== "ready") throw new Error(JSON.stringify(learned));
      for (const { name, total } of learned.models) {
        const taken: TakenLine[] = [];
        for (let cursor: LineCursor | null = null; ; cursor = taken.at(-1) ?? null) {
          const page = lines.take(BATCH, name, cursor, limit, read);
          expect(lines.take(BATCH, name, cursor, limit, read)).toEqual(page);
          if (page.length === 0) break;
          taken.push(...page);
        }
        expect(taken.length).toBe(total);
        const hashes = taken.map(({ hash }) => hash);
        expect(hashes).toEqual([...hashes].sort((one, other) => one - other));
      }
    }),
    { numRuns: 60 },
  );
});

test("each line stands once in the output or the error file, with its first answer, and any range of them fits (property)", () => {
  const answers = fc.array(fc.tuple(fc.nat({ max: 45 }), state), { maxLength: 60 });
  fc.assert(
    fc.property(
      models,
      answers,
      answers,
      fc.constantFrom("completed", "cancelled", "expired"),
      (given, before, after, how) => {
        const { lines, learn } = opened(linesOf(given));
        learn();
        const first = new Map<number, string>();
        for (const [line, said] of before) {
          record(lines, line, said);
          if (line >= 1 && line <= given.length && !first.has(line)) first.set(line, said);
        }
        while (!lines.close(BATCH, how));
        for (const [line, said] of after) record(lines, line, said);
        lines.close(BATCH, "completed");
        const { output, errors } = lines.sizes(BATCH);
        const [out, err] = [textOf(lines.view(BATCH, "out", 0, output)), textOf(lines.view(BATCH, "err", 0, errors))];
        expect([utf8.encode(out).byteLength, utf8.encode(err).byteLength]).toEqual([output, errors]);
        const names = [...told(out), ...told(err)].map(({ custom_id: name }) => name);
        expect(names.sort()).toEqual(given.map((_, at) => `é${at}`).sort());
        expect(told(out).length).toBe([...first.values()].filter((said) => said === "completed").length);
        const silent = told(err).filter(({ error }) => error !== null);
        const expected =
          given.length - [...first.values()].filter((said) => said === "completed" || said === "failed").length;
        expect(silent.length).toBe(expected);
        expect(told(textOf(lines.view(BATCH, "anthropic", 0, Number.MAX_SAFE_INTEGER))).length).toBe(given.length);
        const whole = Buffer.from(out);
        const [from, to] = [Math.floor(output / 3), Math.ceil((2 * output) / 3)];
        expect(Buffer.concat([...lines.view(BATCH, "out", from, to)])).toEqual(whole.subarray(from, to));
        for (const { response } of told(out)) expect(response.body.said).toMatch(/^[üö]\d+$/);
      },
    ),
    { numRuns: 120 },
  );
});

test("a file of more than one slice is read in steps, and a line over the bound is a fault", () => {
  const long = "x".repeat(900_000);
  const line = (at: number): string =>
    JSON.stringify({ custom_id: `r${at}`, method: "POST", url: ENDPOINT, body: { model: "m1", input: long } });
  const text = [0, 1, 2, 3, 4, 5].map(line).join("\r\n");
  const { learn } = opened(text);
  for (let step = 1; step <= 2; step += 1) expect(learn()).toEqual({ is: "reading" });
  expect(learn()).toEqual({ is: "ready", models: [{ name: "m1", total: 6 }] });
  const { learn: learnLong } = opened(`${line(0)}\n${"y".repeat(5_000_000)}`);
  let learned = learnLong();
  while (learned.is === "reading") learned = learnLong();
  expect(learned).toMatchObject({ is: "refused", faults: [{ code: "line_too_large", line: 2 }] });
});

test("a line is too large that is so once its numbers are written out", () => {
  const line = (count: number): string =>
    `{"custom_id":"c","method":"POST","url":"${ENDPOINT}","body":{"model":"m1","input":[${"1e20,".repeat(count)}0]}}`;
  expect(opened(line(47_000)).learn()).toMatchObject({ is: "ready" });
  const refused = opened(line(48_000)).learn();
  expect(refused).toMatchObject({ is: "refused", faults: [{ code: "line_too_large", line: 1 }] });
});

test("no step reads more than some hundreds of lines, however short they are", () => {
  const { learn } = opened(linesOf(Array.from({ length: 2 * SLICE_LINES + 1 }, () => "m")));
  for (let step = 1; step <= 2; step += 1) expect(learn()).toEqual({ is: "reading" });
  expect(learn()).toEqual({ is: "ready", models: [{ name: "m", total: 2 * SLICE_LINES + 1 }] });
});

test("of a file that names a model a line, no more models are read than show that there are too many", () => {
  const { sql } = storageOver(new DatabaseSync(":memory:"));
  let most = 0;
  const exec: Sql["exec"] = (query, ...bindings) => {
    const rows = sql.exec(query, ...bindings).toArray();
    most = Math.max(most, rows.length);
    return { toArray: () => rows };
  };
  const models = Array.from({ length: SLICE_LINES }, (_, at) => `m${at}`);
  const { learn } = opened(linesOf(models), { exec, databaseSize: 0 });
  expect(learn()).toMatchObject({ is: "refused", faults: [{ code: "too_many_models" }] });
  expect(most).toBe(MAX_BATCH_MODELS + 1);
});

test("empty lines are counted, too: a file of nothing else is refused before it is read to its end", () => {
  const { learn } = opened("\n".repeat(2 * MAX_LINES + 2 * SLICE_LINES));
  let learned = learn();
  for (let step = 1; learned.is === "reading" && step <= (2 * MAX_LINES) / SLICE_LINES; step += 1) learned = learn();
  expect(learned).toMatchObject({ is: "refused", faults: [{ code: "too_many_lines" }] });
});

test("many lines are closed and deleted in steps, those of a refused batch, too", () => {
  const count = 2_500;
  const { lines, learn } = opened(linesOf(Array.from({ length: count }, () => "m")));
  while (learn().is === "reading");
  let closings = 1;
  while (!lines.close(BATCH, "cancelled")) closings += 1;
  expect(closings).toBe(3);
  for (const form of ["out", "err"] as const) expect([...lines.drop(BATCH, form)].length).toBe(3);
  expect(lines.hasAny).toBe(false);
  const refused = opened(linesOf(Array.from({ length: count }, (_, at) => `m${at}`)));
  while (refused.learn().is === "reading");
  expect(refused.learn()).toMatchObject({ is: "refused", faults: [{ code: "too_many_models" }] });
  for (const form of ["out", "err"] as const) expect([...refused.lines.drop(BATCH, form)].length).toBe(3);
  expect(refused.lines.hasAny).toBe(false);
});

test("the lines of a batch go with the last of its two files", () => {
  const { lines, learn } = opened(linesOf(["m1", "m1"]));
  learn();
  lines.record(BATCH, [answerTo(1, "completed")]);
  lines.close(BATCH, "cancelled");
  for (const _ of lines.drop(BATCH, "err"));
  expect(lines.hasAny).toBe(true);
  expect(told(textOf(lines.view(BATCH, "out", 0, lines.sizes(BATCH).output))).length).toBe(1);
  for (const _ of lines.drop(BATCH, "out"));
  expect(lines.hasAny).toBe(false);
});
