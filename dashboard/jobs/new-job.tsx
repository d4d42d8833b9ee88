// Creating a job: queue it, or dispatch it at once. The worker that the router would choose is shown beside it.

import { useRef } from "preact/hooks";
import { freshKey } from "../../contract/client/transport.ts";
import type { JobResource, NewJobRequest } from "../../contract/jobs/job.ts";
import { PRIORITIES, type Priority } from "../../contract/words/values.ts";
import { api } from "../api.ts";
import { useAttempt } from "../parts/attempt.ts";
import { type ErrorOf, fieldErrors } from "../parts/field-errors.ts";
import { Check, TextField } from "../parts/form.tsx";
import { EMPTY_JOB, fieldsLike, type JobFields, jsonError, toBody, toExplainQuery } from "../parts/job-fields.ts";
import { LoadState, Page, Panel } from "../parts/page.tsx";
import { Problem } from "../parts/problem.tsx";
import { RequirementFields } from "../parts/requirement-fields.tsx";
import { go, href, place } from "../router.ts";
import { useDraft } from "../state/drafts.ts";
import { useLoad } from "../state/load.ts";
import { tell } from "../state/notice.ts";
import { RouterPreview } from "./router-preview.tsx";

const BACK = { label: "Jobs", href: "#/jobs" };

interface Extra {
  readonly runAt: string;
  readonly timeout: string;
  readonly attempts: string;
  readonly isStreamed: boolean;
}

const fieldsInAddress = (): JobFields => {
  const { query } = place.peek();
  const asked = query.get("priority") as Priority | null;
  const text = (name: string): string => query.get(name) ?? "";
  return {
    ...EMPTY_JOB,
    provider: text("provider"),
    model: text("model"),
    tier: text("tier"),
    tags: text("tags"),
    prompt: text("prompt"),
    priority: asked !== null && PRIORITIES.includes(asked) ? asked : "normal",
  };
};

const toExtra = ({ runAt, timeout, attempts, isStreamed }: Extra): Partial<NewJobRequest> => ({
  ...(runAt === "" ? {} : { run_at: new Date(runAt).toISOString() }),
  ...(timeout === "" ? {} : { timeout_seconds: Number(timeout) }),
  ...(attempts === "" ? {} : { max_attempts: Number(attempts) }),
  ...(isStreamed ? { stream: true } : {}),
});

/** One key per form content: sending the same body twice creates one job. */
const useIdempotency = () => {
  const last = useRef({ body: "", key: "" });
  return (body: unknown): string => {
    const text = JSON.stringify(body);
    if (last.current.body !== text) last.current = { body: text, key: freshKey(Date.now()) };
    return last.current.key;
  };
};

const NO_EXTRA: Extra = { runAt: "", timeout: "", attempts: "", isStreamed: false };

interface Draft {
  readonly fields: JobFields;
  readonly extra: Extra;
  /** Not in the form; copied to a job that is made like another. */
  readonly metadata?: NewJobRequest["metadata"];
}

/** All fields of the other job except its start time. */
const draftLike = (job: JobResource): Draft => ({
  fields: fieldsLike(job),
  extra: {
    ...NO_EXTRA,
    timeout: `${job.timeout_seconds ?? ""}`,
    attempts: `${job.max_attempts ?? ""}`,
    isStreamed: job.stream,
  },
  metadata: job.metadata,
});

const hasMore = ({ fields, extra }: Draft): boolean =>
  extra.isStreamed || `${fields.input}${extra.timeout}${extra.attempts}` !== "";

export const NewJob = () => {
  const like = place.value.query.get("like");
  const { data, error, reload } = useLoad(like, (signal) => api.jobs.get(like ?? "", { signal }));
  if (like === null) return <Form draft={{ fields: fieldsInAddress(), extra: NO_EXTRA }} />;
  if (data !== null) return <Form draft={draftLike(data)} />;
  return (
    <Page title="New job" back={BACK}>
      <LoadState data={null} error={error} retry={reload} what="the job to copy" />
    </Page>
  );
};

const More = ({ draft, onChange, errorOf }: { draft: Draft; onChange: (draft: Draft) => void; errorOf: ErrorOf }) => {
  const { fields, extra } = draft;
  const changeExtra = (changes: Partial<Extra>): void => onChange({ ...draft, extra: { ...extra, ...changes } });
  return (
    <>
      <TextField
        label="Input"
        hint="Any JSON value; the worker gets it with the prompt."
        rows={3}
        isCode
        value={fields.input}
        error={jsonError(fields.input) ?? errorOf("input")}
        onInput={(input) => onChange({ ...draft, fields: { ...fields, input } })}
      />
      <div class="field-row">
        <TextField
          label="Not before"
          hint="In your time zone. Only for queued jobs."
          type="datetime-local"
          value={extra.runAt}
          error={errorOf("run_at")}
          onInput={(runAt) => changeExtra({ runAt })}
        />
        <TextField
          label="Timeout, seconds"
          type="number"
          placeholder="as configured"
          value={extra.timeout}
          error={errorOf("timeout_seconds")}
          onInput={(timeout) => changeExtra({ timeout })}
        />
        <TextField
          label="Max. attempts"
          type="number"
          placeholder="as configured"
          value={extra.attempts}
          error={errorOf("max_attempts")}
          onInput={(attempts) => changeExtra({ attempts })}
        />
      </div>
      <Check
        label="Show the text while it is written"
        hint="Where the model can: the result streams to the job's page."
        value={extra.isStreamed}
        onInput={(isStreamed) => changeExtra({ isStreamed })}
      />
    </>
  );
};

type Verb = "dispatch" | "create";

/** Sends the draft, and opens the new job. */
const useSubmit = (draft: Draft) => {
  const { error, isBusy, attempt, setError } = useAttempt();
  const idempotency = useIdempotency();
  const submit = async (verb: Verb): Promise<void> => {
    if (isBusy) return;
    const { fields, extra, metadata } = draft;
    const wrong = jsonError(fields.input);
    if (wrong !== null) return setError(new Error(wrong));
    await attempt(async () => {
      const body = { ...toBody(fields), ...toExtra(extra), ...(metadata === undefined ? {} : { metadata }) };
      const job = await api.jobs[verb](body, { idempotencyKey: idempotency({ verb, body }) });
      tell(verb === "dispatch" ? `Dispatched to ${job.assigned_worker}.` : "Queued.");
      go(href(["jobs", job.id]));
    });
  };
  return { error, isBusy, submit };
};

/** Busy buttons keep the focus: switched off, they would lose it to the top of the form, far from the refusal. */
const Foot = ({ isBusy, onQueue }: { isBusy: boolean; onQueue: () => void }) => (
  <div class="form-foot">
    <button type="submit" class="button primary" aria-disabled={isBusy}>
      Dispatch now
    </button>
    <button
      type="button"
      class="button"
      aria-disabled={isBusy}
      onClick={({ currentTarget: { form } }) => form?.reportValidity() && onQueue()}
    >
      Put in the queue
    </button>
    <p class="hint">Dispatching fails if no worker can take it at once; the queue keeps it until one can.</p>
  </div>
);

const Form = ({ draft: given }: { draft: Draft }) => {
  const [draft, setDraft] = useDraft(location.hash, given);
  const { error, isBusy, submit } = useSubmit(draft);
  const { fields } = draft;
  const change = (changes: Partial<JobFields>) =>
    setDraft((before) => ({ ...before, fields: { ...before.fields, ...changes } }));
  const errorOf = fieldErrors(error);
  return (
    <Page title="New job" back={BACK}>
      <form
        class="split"
        onSubmit={(event) => {
          event.preventDefault();
          void submit("dispatch");
        }}
      >
        <Panel title="The job">
          <TextField
            label="Prompt"
            rows={6}
            value={fields.prompt}
            error={errorOf("prompt")}
            onInput={(prompt) => change({ prompt })}
            isRequired
          />
          <RequirementFields value={fields} onChange={change} errorOf={errorOf} />
          <details class="more" open={hasMore(given)}>
            <summary>Input, start, limits, streaming</summary>
            <More draft={draft} onChange={setDraft} errorOf={errorOf} />
          </details>
          <Problem error={error} />
          <Foot isBusy={isBusy} onQueue={() => submit("create")} />
        </Panel>
        <Panel title="The router's choice" class="sticky">
          <RouterPreview query={toExplainQuery(fields)} />
        </Panel>
      </form>
    </Page>
  );
};
