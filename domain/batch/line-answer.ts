// What a line of a batch got, as the batch's files tell it. A line without an answer was cancelled, or its batch's time
// was over.

/** `completed`: in the output file; everything else is in the error file. */
export type LineState = "completed" | "failed" | "cancelled" | "expired";

export interface LineAnswer {
  readonly line: number;
  readonly state: LineState;
  readonly jobId: string;
  /** Of the response; null without one. */
  readonly status: number | null;
  /** The response's body as JSON; null without one, or where a file has it. */
  readonly body: string | null;
  /** The file with a body over 1 MiB. */
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

/** A line of the output or the error file, in OpenAI's form. */
export const openAiLine = ({ customId, requestId, answer }: ToldLine): string => {
  const { state, status, body, jobId, resultFile } = answer;
  const named = `{"id":${JSON.stringify(`batch_req_${requestId}`)},"custom_id":${JSON.stringify(customId)}`;
  if (state === "cancelled" || state === "expired")
    return `${named},"response":null,"error":${JSON.stringify(NO_ANSWER[state])}}\n`;
  const elsewhere = resultFile === null ? "" : `,"result_file":${JSON.stringify(resultFile)}`;
  const response = `{"status_code":${status ?? 0},"request_id":${JSON.stringify(jobId)},"body":${body ?? "null"}${elsewhere}}`;
  return `${named},"response":${response},"error":null}\n`;
};

const ANTHROPIC_RESULT: Readonly<Record<LineState, (body: string) => string>> = {
  completed: (body) => `{"type":"succeeded","message":${body}}`,
  failed: (body) => `{"type":"errored","error":${body}}`,
  cancelled: () => '{"type":"canceled"}',
  expired: () => '{"type":"expired"}',
};

/** A line of the results, in Anthropic's form. */
export const anthropicLine = ({ customId, answer }: ToldLine): string =>
  `{"custom_id":${JSON.stringify(customId)},"result":${ANTHROPIC_RESULT[answer.state](answer.body ?? "null")}}\n`;
