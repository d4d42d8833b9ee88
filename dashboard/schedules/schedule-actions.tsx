// The actions on a schedule: run now, pause or resume, edit, delete.

import { useState } from "preact/hooks";
import type { ScheduleResource } from "../../contract/schedule.ts";
import { api } from "../api.ts";
import { Confirm } from "../parts/dialog.tsx";
import { ForOperators } from "../parts/for-operators.tsx";
import { go, href } from "../router.ts";
import { attempt, tell } from "../state/notice.ts";
import { runNow } from "./run-now.ts";

export const ScheduleActions = ({
  schedule,
  onDone,
  isShort = false,
}: {
  schedule: ScheduleResource;
  onDone: () => void;
  isShort?: boolean;
}) => {
  const [isDeleting, setDeleting] = useState(false);
  const { name, status } = schedule;
  const size = isShort ? "button small" : "button";
  const isActive = status === "active";
  const act = async (work: () => Promise<unknown>, done: string): Promise<void> => {
    await attempt(`edit ${name}`, work, done);
    onDone();
  };
  return (
    <ForOperators>
      <button type="button" class={size} aria-label={`Run now: ${name}`} onClick={() => void runNow(name).then(onDone)}>
        Run now
      </button>
      <button
        type="button"
        class={size}
        aria-label={`${isActive ? "Pause" : "Resume"}: ${name}`}
        onClick={() =>
          act(
            () => api.schedules.edit(name, { status: isActive ? "paused" : "active" }),
            isActive ? `${name} is paused.` : `${name} runs again.`,
          )
        }
      >
        {isActive ? "Pause" : "Resume"}
      </button>
      {!isShort && (
        <>
          <a class={size} href={href(["schedules", name, "edit"])}>
            Edit
          </a>
          <button type="button" class={`${size} danger`} onClick={() => setDeleting(true)}>
            Delete
          </button>
        </>
      )}
      {isDeleting && (
        <Confirm
          title={`Delete ${name}?`}
          action="Delete"
          isDestructive
          onConfirm={async () => {
            await api.schedules.remove(name);
            tell(`${name} is deleted.`);
            go("#/schedules");
          }}
          onClose={() => setDeleting(false)}
        >
          <p>It will not run again, and its history is deleted. Its jobs stay.</p>
        </Confirm>
      )}
    </ForOperators>
  );
};
