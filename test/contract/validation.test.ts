// What a refusal says about a value that may be of several kinds.

import { expect, it } from "vitest";
import * as z from "zod";
import { configDocument } from "../../contract/config/config.ts";
import { metadata } from "../../contract/jobs/job.ts";
import { fieldErrorsOf } from "../../contract/words/validation.ts";

const errorsOf = (alias: unknown) => {
  const given = { front_door: { aliases: { fast: alias } } };
  const read = configDocument.safeParse(given);
  return read.success ? [] : fieldErrorsOf(configDocument, read.error, given);
};

const AT = "front_door.aliases.fast";

it.each([
  [{ modle: "m" }, [`${AT}.model`, "is required"]],
  [{ model: "m", provder: "p" }, [`${AT}.provder`, 'unknown field "provder"; did you mean "provider"?']],
  [
    [{ model: "m" }, { provider: "p" }],
    [`${AT}.1.model`, "is required"],
  ],
  [Array.from({ length: 21 }, () => ({ model: "m" })), [AT, "must have at most 20 entries"]],
  [[{ model: "m", wieght: 1 }], [`${AT}.0.wieght`, 'unknown field "wieght"; did you mean "weight"?']],
])("%j is at fault where its own kind is", (alias, [path, message]) => {
  expect(errorsOf(alias)).toContainEqual({ path, message });
});

it.each([7, "llama3.2", null])("of %j, which is of no kind, it says which kinds there are", (alias) => {
  expect(errorsOf(alias)).toEqual([{ path: AT, message: "must be an object or a list" }]);
});

const some = z.strictObject({
  count: z.int().min(1).max(9).optional(),
  share: z.number().gt(0).optional(),
  name: z.string().min(2).max(3).optional(),
  tags: z.array(z.string()).max(1).optional(),
  on: z.boolean().optional(),
  event: z.enum(["job.failed", "job.completed"]).optional(),
  kind: z.literal("all").optional(),
  own: z.number().min(1, "is the schema's own word").optional(),
});

it.each([
  [{ count: 0 }, "must be at least 1"],
  [{ count: 10 }, "must be at most 9"],
  [{ count: 1.5 }, "must be a whole number"],
  [{ share: 0 }, "must be more than 0"],
  [{ share: "x" }, "must be a number"],
  [{ name: "a" }, "must have at least 2 characters"],
  [{ name: 7 }, "must be text"],
  [{ tags: ["a", "b"] }, "must have at most 1 entry"],
  [{ tags: "a" }, "must be a list"],
  [{ tags: "long" }, "must be a list"],
  [{ on: "yes" }, "must be true or false"],
  [{ event: "job.fialed" }, 'must be one of job.failed, job.completed; did you mean "job.failed"?'],
  [{ event: 7 }, "must be one of job.failed, job.completed"],
  [{ kind: "some" }, "must be all"],
  [{ own: 0 }, "is the schema's own word"],
])("%j is refused in plain words", (given, message) => {
  const read = some.safeParse(given);
  expect(read.error && fieldErrorsOf(some, read.error, given)).toEqual([{ path: Object.keys(given)[0], message }]);
});

it.each([
  ["", "its name must not be empty"],
  ["n".repeat(65), "its name must have at most 64 characters"],
])("a pair is refused for its name %j in plain words", (name, message) => {
  const given = { [name]: "v" };
  const read = metadata.safeParse(given);
  expect(read.error && fieldErrorsOf(metadata, read.error, given)).toEqual([{ path: name, message }]);
});

it.each([
  ["job.startd", 'must be one of job.started, job.failed; did you mean "job.started"?'],
  [undefined, "must be one of job.started, job.failed"],
])("a message of type %j is refused with the types that there are", (type, message) => {
  const messages = z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("job.started") }),
    z.strictObject({ type: z.literal("job.failed") }),
  ]);
  const read = messages.safeParse({ type });
  expect(read.error && fieldErrorsOf(messages, read.error, { type })).toEqual([{ path: "type", message }]);
});
