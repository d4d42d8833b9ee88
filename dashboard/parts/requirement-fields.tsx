// The fields that choose a worker, shared by the forms of jobs and schedules and by the explain page.

import { PRIORITIES, type Priority, TIERS } from "../../contract/words/values.ts";
import { offered } from "../state/offered.ts";
import { Choice, SelectField, TextField } from "./form.tsx";
import type { JobFields } from "./job-fields.ts";

type Requirements = Pick<JobFields, "provider" | "model" | "priority" | "tier" | "tags">;

const MAX_HINTED = 8;

export const RequirementFields = ({
  value,
  onChange,
  errorOf = () => undefined,
}: {
  value: Requirements;
  onChange: (changes: Partial<Requirements>) => void;
  errorOf?: (path: string) => string | undefined;
}) => {
  const { tags: offeredTags, providers, models } = offered.value;
  return (
    <>
      <Choice<Priority>
        label="Priority"
        value={value.priority}
        options={PRIORITIES.map((one) => [one, one] as const)}
        onInput={(priority) => onChange({ priority })}
      />
      <div class="field-row">
        <TextField
          label="Tags"
          hint={
            offeredTags.length === 0
              ? "Separated by commas; the worker must offer all of them."
              : `Separated by commas. Offered now: ${offeredTags.slice(0, MAX_HINTED).join(", ")}`
          }
          error={errorOf("tags")}
          value={value.tags}
          onInput={(tags) => onChange({ tags })}
          placeholder="none"
        />
        <SelectField
          label="Tier"
          value={value.tier}
          error={errorOf("tier")}
          onInput={(tier) => onChange({ tier })}
          options={[["", "any"], ...TIERS.map((one) => [one, one] as const)]}
        />
      </div>
      <div class="field-row">
        <TextField
          label="Provider"
          value={value.provider}
          error={errorOf("provider")}
          onInput={(provider) => onChange({ provider })}
          suggestions={providers}
          placeholder="any"
        />
        <TextField
          label="Model"
          value={value.model}
          error={errorOf("model")}
          onInput={(model) => onChange({ model })}
          suggestions={models}
          placeholder="any"
        />
      </div>
    </>
  );
};
