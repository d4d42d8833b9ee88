// A page whose code is loaded when it is first shown, so that the first view stays small.

import type { ComponentType, VNode } from "preact";
import { LoadState, Page } from "../parts/page.tsx";
import { connection } from "../state/live.ts";
import { useLoad } from "../state/load.ts";

const missing = (): never => {
  const why =
    connection.peek() === "live"
      ? "Signalbox may have been updated meanwhile."
      : "It is loaded when the connection is back.";
  throw new Error(`Its code could not be loaded. ${why}`);
};

interface Named {
  /** The name in the address; empty for a page without one. */
  readonly id: string;
}

type Load = () => Promise<ComponentType<Named>>;

const Waiting = ({ title, load, id }: Named & { title: string; load: Load }) => {
  const { data, error, reload } = useLoad(title, async () => ({ Shown: await load().catch(missing) }));
  if (data !== null) return <data.Shown id={id} />;
  // The next release has other files, which only a new document names. Without a coordinator there would be none.
  const retry = () => (connection.peek() === "live" ? location.reload() : reload());
  return (
    <Page title={title}>
      <LoadState data={null} error={error} retry={retry} what="the page" />
    </Page>
  );
};

export const lazyPage =
  (title: string, load: Load): ((id: string) => VNode) =>
  (id) => <Waiting key={title} title={title} load={load} id={id} />;
