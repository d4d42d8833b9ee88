// Creating or changing a schedule. Its next runs are shown and follow the input.

import { useEffect, useState } from "preact/hooks";
import { api } from "../api.ts";
import { readerZone } from "../format.ts";
import { useAttempt } from "../parts/attempt.ts";
import { type ErrorOf, fieldErrors } from "../parts/field-errors.ts";
import { Choice, SelectField, TextField } from "../parts/form.tsx";
import { jsonError } from "../parts/job-fields.ts";
import { Loading, Page, Panel } from "../parts/page.tsx";
import { Problem } from "../parts/problem.tsx";
import { RequirementFields } from "../parts/requirement-fields.tsx";
import { sendChanges } from "../parts/send-changes.ts";
import { go, href } from "../router.ts";
import { useDraft } from "../state/drafts.ts";
import { useLoad, useSettled } from "../state/load.ts";
import { tell } from "../state/notice.ts";
import { NextRuns } from "./next-runs.tsx";
import { fieldsOf, newSchedule, type ScheduleFields, toEdit, toNewSchedule, toPreview } from "./schedule-fields.ts";

const PREVIEW = 6;
const ZONES = [...new Set(["UTC", ...Intl.supportedValuesOf("timeZone")])];

const Preview = ({ fields }: { fields: ScheduleFields }) => {
  const asked = useSettled(JSON.stringify(toPreview(fields)));
  const { data, error } = useLoad(asked, (signal) =>
    api.schedules.preview(JSON.parse(asked), { preview: PREVIEW, signal }),
  );
  if (error !== null) return <Problem error={error} />;
  if (data === null) return <Loading what="the next runs" />;
  return <NextRuns runs={data.next_runs} timezone={fields.kind === "cron" ? fields.timezone : readerZone()} />;
};

interface PartProps {
  fields: ScheduleFields;
  change: (changes: Partial<ScheduleFields>) => void;
  errorOf: ErrorOf;
}

const Timing = ({ fields, change, errorOf }: PartProps) => (
  <>
    <Choice
      label="Runs"
      value={fields.kind}
      options={
        [
          ["cron", "by the clock"],
          ["interval", "at an interval"],
        ] as const
      }
      onInput={(kind) => change({ kind })}
    />
    {fields.kind === "cron" ? (
      <div class="field-row">
        <TextField
          label="Cron"
          hint="minute, hour, day, month, weekday"
          isCode
          value={fields.cron}
          error={errorOf("cron")}
          onInput={(cron) => change({ cron })}
          isRequired
        />
        <TextField
          label="Time zone"
          value={fields.timezone}
          error={errorOf("timezone")}
          onInput={(timezone) => change({ timezone })}
          suggestions={ZONES}
          isRequired
        />
      </div>
    ) : (
      <TextField
        label="Every"
        hint="A number with s, m, h or d: 30s, 15m, 6h, 1d"
        isCode
        value={fields.interval}
        error={errorOf("interval")}
        onInput={(interval) => change({ interval })}
        isRequired
      />
    )}
    <SelectField
      label="If the last run's job is still open"
      value={fields.overlap}
      options={[
        ["allow", "run anyway"],
        ["skip", "skip the run"],
      ]}
      onInput={(overlap) => change({ overlap: overlap as ScheduleFields["overlap"] })}
    />
  </>
);

/** Creates the schedule or changes the named one, and opens it. */
const useSave = (name: string | null, began: ScheduleFields, fields: ScheduleFields) => {
  const { error, isBusy, attempt } = useAttempt();
  const save = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (jsonError(fields.input) !== null) return;
    await attempt(async () => {
      const saved = name ?? (await api.schedules.create(toNewSchedule(fields))).name;
      if (name !== null)
        await sendChanges(toEdit(began), toEdit(fields), (changes) => api.schedules.edit(name, changes));
      tell(`${saved} is saved.`);
      go(href(["schedules", saved]));
    });
  };
  return { error, isBusy, save };
};

const Form = ({ name, initial }: { name: string | null; initial: ScheduleFields }) => {
  const [fields, setFields, began] = useDraft(location.hash, initial);
  const { error, isBusy, save } = useSave(name, began, fields);
  const change = (changes: Partial<ScheduleFields>) => setFields((before) => ({ ...before, ...changes }));
  const errorOf = fieldErrors(error);
  return (
    <form class="split" onSubmit={save}>
      <div class="stack-panels">
        <Panel title="When">
          {name === null && (
            <TextField
              label="Name"
              hint="Letters, digits, . _ and -"
              value={fields.name}
              error={errorOf("name")}
              onInput={(value) => change({ name: value })}
              isRequired
            />
          )}
          <Timing fields={fields} change={change} errorOf={errorOf} />
        </Panel>
        <Panel title="What">
          <TextField
            label="Prompt"
            rows={5}
            value={fields.prompt}
            error={errorOf("prompt")}
            onInput={(prompt) => change({ prompt })}
            isRequired
          />
          <RequirementFields value={fields} onChange={change} errorOf={errorOf} />
          <TextField
            label="Input"
            hint="Any JSON value; empty for none."
            rows={3}
            isCode
            value={fields.input}
            error={jsonError(fields.input) ?? errorOf("input")}
            onInput={(input) => change({ input })}
          />
          <Problem error={error} />
          <div class="form-foot">
            <button type="submit" class="button primary" aria-disabled={isBusy}>
              {name === null ? "Create the schedule" : "Save"}
            </button>
          </div>
        </Panel>
      </div>
      <Panel title="Next runs" class="sticky">
        <Preview fields={fields} />
      </Panel>
    </form>
  );
};

export const ScheduleForm = ({ name }: { name: string | null }) => {
  const [initial, setInitial] = useState<ScheduleFields | null>(name === null ? newSchedule : null);
  const { data, error, reload } = useLoad(name, (signal) => api.schedules.get(name ?? "", { signal }));
  useEffect(() => {
    if (data !== null) setInitial(fieldsOf(data));
  }, [data]);
  const back =
    name === null ? { label: "Schedules", href: "#/schedules" } : { label: name, href: href(["schedules", name]) };
  return (
    <Page title={name === null ? "New schedule" : `Edit ${name}`} back={back}>
      <Problem error={error} retry={reload} />
      {initial === null ? error === null && <Loading what="the schedule" /> : <Form name={name} initial={initial} />}
    </Page>
  );
};
