// What a line of a batch got, as the batch's files tell it. A line without an answer was cancelled, or its batch's time
// was over.

import type { Json } from "../words/json.ts";

/** `completed`: in the output file; everything else is in the error file. */
type LineState = "completed" | "failed" | "cancelled" | "expired";

export interface LineAnswer {
  readonly line: number;
  readonly state: LineState;
  readonly jobId: string;
  /** Of the response; null without one. */
  readonly status: number | null;
  /** The response's body as JSON; null without one, or where a file has it. */
  readonly body: string | null;
  /** The file with a body over 1 MiB, until the batch's own object has it. */
  readonly resultFile: { readonly id: string; readonly bytes: number } | null;
}

/** One line of a batch's files, before it is written. */
export interface ToldLine {
  readonly customId: string;
  /** Names the request. */
  readonly requestId: string;
  readonly answer: Omit<LineAnswer, "line" | "jobId"> & { readonly jobId: string | null };
}

const NO_ANSWER = {
  cancelled: { code: "batch_cancelled", message: "the batch was cancelled before this line had an answer" },
  expired: { code: "batch_expired", message: "the batch's time was over before this line had an answer" },
} as const;

/** A line as it is written. A body that a file has stands between body and tail. */
export interface LineParts {
  readonly head: string;
  readonly body: string;
  readonly tail: string;
}

const partsAround = (before: string, { body, resultFile }: ToldLine["answer"], after: string): LineParts => ({
  head: before,
  body: resultFile === null ? (body ?? "null") : "",
  tail: `${after}\n`,
});

const withoutBody = (line: string): LineParts => ({ head: line, body: "", tail: "\n" });

/** A line of the output or the error file, in OpenAI's form. */
export const openAiParts = ({ customId, requestId, answer }: ToldLine): LineParts => {
  const { state, status, jobId } = answer;
  const named = `{"id":${JSON.stringify(`batch_req_${requestId}`)},"custom_id":${JSON.stringify(customId)},"response":`;
  if (state === "cancelled" || state === "expired")
    return withoutBody(`${named}null,"error":${JSON.stringify(NO_ANSWER[state])}}`);
  const response = `{"status_code":${status ?? 0},"request_id":${JSON.stringify(jobId)},"body":`;
  return partsAround(named + response, answer, '},"error":null}');
};

/** A line of the results, in Anthropic's form. */
export const anthropicParts = ({ customId, answer }: ToldLine): LineParts => {
  const named = `{"custom_id":${JSON.stringify(customId)},"result":`;
  switch (answer.state) {
    case "completed":
      return partsAround(`${named}{"type":"succeeded","message":`, answer, "}}");
    case "failed":
      return partsAround(`${named}{"type":"errored","error":`, answer, "}}");
    case "cancelled":
      return withoutBody(`${named}{"type":"canceled"}}`);
    case "expired":
      return withoutBody(`${named}{"type":"expired"}}`);
  }
};

interface WrittenLine {
  readonly custom_id: string;
  readonly response: { readonly body: Json } | null;
  readonly error: { readonly code: string } | null;
}

const stateOf = ({ response, error }: WrittenLine, isOutput: boolean): LineState => {
  if (response !== null) return isOutput ? "completed" : "failed";
  return error?.code === NO_ANSWER.expired.code ? "expired" : "cancelled";
};

/** A line of the output or the error file as one of the results. */
export const anthropicLine = (text: string, isOutput: boolean): string => {
  const line: WrittenLine = JSON.parse(text);
  const body = JSON.stringify(line.response?.body ?? null);
  const answer = { state: stateOf(line, isOutput), status: null, body, jobId: null, resultFile: null };
  const parts = anthropicParts({ customId: line.custom_id, requestId: "", answer });
  return parts.head + parts.body + parts.tail;
};
