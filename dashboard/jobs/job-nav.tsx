// From one job of a list to the next or the previous one, by link or with j and k.

import { useEffect } from "preact/hooks";
import { count } from "../format.ts";
import { go, href, parsePlace } from "../router.ts";
import { cameFrom } from "../state/came-from.ts";
import { followKeys } from "./row-keys.ts";

const LISTS: Readonly<Record<string, string>> = { jobs: "Jobs", fleet: "Worker", batches: "Batch" };
const ALL_JOBS = { label: "Jobs", href: "#/jobs" };

/** The list that the job was opened in, as it was. */
export const backOf = (id: string): { label: string; href: string } => {
  const list = cameFrom.value;
  if (list === null || !list.ids.includes(id)) return ALL_JOBS;
  const label = LISTS[parsePlace(list.address).segments[0] ?? ""];
  return label === undefined ? ALL_JOBS : { label, href: list.address };
};

const Step = ({ id, says }: { id: string | undefined; says: "Previous" | "Next" }) =>
  id === undefined ? (
    <button type="button" class="button" disabled>
      {says}
    </button>
  ) : (
    <a class="button" href={href(["jobs", id])} rel={says === "Next" ? "next" : "prev"}>
      {says}
    </a>
  );

const open = (id: string | undefined) => (): void => {
  if (id !== undefined) go(href(["jobs", id]));
};

export const JobNav = ({ id }: { id: string }) => {
  const ids = cameFrom.value?.ids ?? [];
  const at = ids.indexOf(id);
  const [before, after] = at < 0 ? [] : [ids[at - 1], ids[at + 1]];
  useEffect(() => followKeys({ j: open(after), k: open(before) }), [before, after]);
  if (at < 0 || ids.length < 2) return null;
  return (
    <nav class="job-nav" aria-label="The list that it was opened in">
      <Step id={before} says="Previous" />
      <span class="dim num">
        {count(at + 1)} of {count(ids.length)}
      </span>
      <Step id={after} says="Next" />
    </nav>
  );
};
