// Shows archived jobs in place of those in history. There is no such chip while the archive is empty.

import { api } from "../../api.ts";
import { refine } from "../../router.ts";
import { FROM_THE_START } from "../../state/job-filter.ts";
import { useLoad } from "../../state/load.ts";

export const ArchivedChip = ({ isArchived }: { isArchived: boolean }) => {
  const { data } = useLoad("archive", (signal) => api.archive.days({ limit: 1 }, { signal }));
  if (!isArchived && (data?.total ?? 0) === 0) return null;
  return (
    <button
      type="button"
      class="chip"
      aria-pressed={isArchived}
      title="Jobs that have left history: they can be read, not changed"
      onClick={() => refine({ archived: isArchived ? null : "true", sort: null, ...FROM_THE_START })}
    >
      archived
    </button>
  );
};
