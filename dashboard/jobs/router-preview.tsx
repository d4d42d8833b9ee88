// The worker that the router would choose, read again when requirements or the fleet change.

import type { ExplainQuery } from "../../contract/dispatch.ts";
import { api } from "../api.ts";
import { LoadState } from "../parts/page.tsx";
import { hasSnapshot, killswitch, workers } from "../state/board.ts";
import { useLoad, useSettled, useThrottled } from "../state/load.ts";
import { ExplanationView, MAX_NAMED } from "./explanation-view.tsx";

const FLEET_EVERY_MS = 3000;

/** The parts of the fleet that can change a choice; not the heartbeats. */
const fleetShape = (): string =>
  [...workers.value.values()]
    .map(({ instance, status, paused, current_load, tags }) => [instance, status, paused, current_load, tags].join())
    .join(";") + killswitch.value?.level;

export const RouterPreview = ({ query }: { query: Partial<ExplainQuery> }) => {
  const asked = useSettled(JSON.stringify(query));
  const fleet = useThrottled(fleetShape(), FLEET_EVERY_MS);
  // Not before the fleet is known, because it would be read again at once.
  const { data, error, reload } = useLoad(hasSnapshot.value ? `${asked} ${fleet}` : null, (signal) =>
    api.jobs.explain({ ...JSON.parse(asked), limit: MAX_NAMED }, { signal }),
  );
  if (data === null || error !== null)
    return <LoadState data={data} error={error} retry={reload} what="the router's choice" />;
  return <ExplanationView explanation={data} />;
};
