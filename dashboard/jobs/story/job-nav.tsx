// From one job of a list to the next or the previous one, by link or with j and k.

import { useLayoutEffect } from "preact/hooks";
import { entryOf } from "../../../contract/words/values.ts";
import { count } from "../../format.ts";
import { go, href, parsePlace } from "../../router.ts";
import { cameFrom, readBack, readOn } from "../../state/came-from.ts";
import { tellError } from "../../state/notice.ts";
import { followKeys } from "../row-keys.ts";

const LISTS: Readonly<Record<string, string>> = { jobs: "Jobs", fleet: "Worker", batches: "Batch" };
const ALL_JOBS = { label: "Jobs", href: "#/jobs" };

/** The list that the job was opened in, as it was. */
export const backOf = (id: string): { label: string; href: string } => {
  const list = cameFrom.value;
  if (list === null || !list.ids.includes(id)) return ALL_JOBS;
  const label = entryOf(LISTS, parsePlace(list.address).segments[0] ?? "");
  return label === undefined ? ALL_JOBS : { label, href: list.address };
};

type Says = "Previous" | "Next";

/** To a known job by link; to one of another page of the list by a button that reads it first. */
const Step = ({ id, says, read }: { id: string | undefined; says: Says; read: (() => void) | null }) =>
  id === undefined ? (
    <button type="button" class="button" disabled={read === null} onClick={read ?? undefined}>
      {says}
    </button>
  ) : (
    <a class="button" href={href(["jobs", id])} rel={says === "Next" ? "next" : "prev"}>
      {says}
    </a>
  );

const openJob = (id: string | null | undefined): void => {
  if (id != null) go(href(["jobs", id]));
};

let isReading = false;

/** Opens what is read, once; a page that cannot be read leaves this one. */
const turning = (read: () => Promise<string | null>) => (): void => {
  if (isReading) return;
  isReading = true;
  read()
    .then(openJob, tellError)
    .finally(() => {
      isReading = false;
    });
};

export const JobNav = ({ id }: { id: string }) => {
  const { ids = [], beyond = null } = cameFrom.value ?? {};
  const at = ids.indexOf(id);
  const [before, after] = at < 0 ? [] : [ids[at - 1], ids[at + 1]];
  const isListed = at >= 0;
  const back = isListed && before === undefined && (beyond?.offset ?? 0) > 0 ? turning(readBack) : null;
  const on = isListed && after === undefined && beyond !== null && beyond.next !== null ? turning(readOn) : null;
  // With the page itself: a key pressed as soon as it is seen would still turn from the job before.
  useLayoutEffect(
    () => followKeys({ j: on ?? (() => openJob(after)), k: back ?? (() => openJob(before)) }),
    [before, after, on === null, back === null],
  );
  const total = beyond?.total ?? ids.length;
  if (!isListed || total < 2) return null;
  return (
    <nav class="job-nav" aria-label="The list that it was opened in">
      <Step id={before} says="Previous" read={back} />
      <span class="dim num">
        {count((beyond?.offset ?? 0) + at + 1)} of {count(Math.max(total, ids.length))}
      </span>
      <Step id={after} says="Next" read={on} />
    </nav>
  );
};
