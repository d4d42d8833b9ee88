// A job's texts in history: in its own row, where they are short; a long result is in `results`, the rest of a prompt
// and a long input in `payloads`, which for jobs of earlier releases has both whole. Long ones are packed some time
// after the job's end, the start of a prompt only of a job that is completed: its words are read no more. Where
// retention has deleted a job's texts, its row says so by an input that is no JSON.

import { charsOf, isPacked, packedOf, packedStartOf, plainOf, unpack } from "./packed-text.ts";

/** The input of a job without texts. */
export const NO_TEXTS = "";

/** Joins what the columns below read. */
export const TEXTS_OF_JOBS = `LEFT JOIN payloads ON payloads.tenant = jobs.tenant AND payloads.job_id = jobs.id
  LEFT JOIN results ON results.tenant = jobs.tenant AND results.job_id = jobs.id`;

const PROMPT_START = "jobs.prompt";
const PROMPT_REST = "payloads.prompt";
const INPUT = "COALESCE(jobs.input, payloads.input)";
const RESULT = "COALESCE(jobs.result, results.result)";

const PLAIN_PROMPT = `COALESCE(${plainOf(PROMPT_START)}, '') || COALESCE(${plainOf(PROMPT_REST)}, '')`;
const PLAIN_INPUT = `COALESCE(NULLIF(${plainOf(INPUT)}, '${NO_TEXTS}'), 'null')`;
const PLAIN_RESULT = `COALESCE(${plainOf(RESULT)}, 'null')`;

/** What is not packed, as JSON, and beside it what is, of the prompt its start and its rest. */
export const TEXT_COLUMNS = `${PLAIN_PROMPT} AS prompt, ${packedOf(PROMPT_START)} AS packed_start,
  ${packedOf(PROMPT_REST)} AS packed_prompt,
  ${PLAIN_INPUT} AS input, ${packedOf(INPUT)} AS packed_input,
  COALESCE(${INPUT}, 'null') = '${NO_TEXTS}' AS is_without_texts,
  ${PLAIN_RESULT} AS result, ${packedOf(RESULT)} AS packed_result`;

/** Of each the beginning, and how many characters it has; null is never too long for an answer. */
export const shortTextColumns = (chars: string, jsonChars: string): string =>
  `substr(${PLAIN_PROMPT}, 1, ${chars}) AS prompt,
  COALESCE(${charsOf(PROMPT_START)}, 0) + COALESCE(${charsOf(PROMPT_REST)}, 0) AS prompt_chars,
  ${packedStartOf(PROMPT_START)} AS packed_start,
  iif(${charsOf(PROMPT_START)} < ${chars}, ${packedStartOf(PROMPT_REST)}, NULL) AS packed_prompt,
  iif(${isPacked(INPUT)}, '', substr(${PLAIN_INPUT}, 1, ${jsonChars})) AS input, ${charsOf(INPUT)} AS input_chars,
  iif(${isPacked(INPUT)} AND ${charsOf(INPUT)} <= ${chars}, hex(${INPUT}), NULL) AS packed_input,
  iif(${isPacked(RESULT)}, '', substr(${PLAIN_RESULT}, 1, ${jsonChars})) AS result, ${charsOf(RESULT)} AS result_chars,
  iif(${isPacked(RESULT)} AND ${charsOf(RESULT)} <= ${chars}, hex(${RESULT}), NULL) AS packed_result`;

interface Texts {
  readonly prompt: string;
  readonly input: string;
  readonly result: string;
}

export interface TextsRow extends Texts {
  readonly packed_start: string | null;
  readonly packed_prompt: string | null;
  readonly packed_input: string | null;
  readonly packed_result: string | null;
}

/** The same row with its packed texts in their places. */
export const withTexts = async <Row extends TextsRow>(row: Row): Promise<Row> => {
  const { packed_start: start, packed_prompt: rest, packed_input: input, packed_result: result } = row;
  if (start === null && rest === null && input === null && result === null) return row;
  return {
    ...row,
    prompt: (await unpack(start)) + row.prompt + (await unpack(rest)),
    input: input === null ? row.input : await unpack(input),
    result: result === null ? row.result : await unpack(result),
  };
};
