// The history in a workerd process of its own, behind Unix sockets: neither its work nor its death is the tenants'.

import { writeFileSync } from "node:fs";
import path from "node:path";
import type { Project } from "../build/project.ts";
import { type HistorySockets, historyConfig } from "../config/serving-config.ts";
import type { DataDir } from "../data/data-dir.ts";
import { type ChildServer, startChildServer } from "./child-server.ts";

interface HistoryProcess {
  readonly child: ChildServer;
  readonly sockets: HistorySockets;
}

/** `folder`: where its sockets are made. */
export const startHistory = ({ project, dir }: { project: Project; dir: DataDir }, folder: string): HistoryProcess => {
  const sockets = Object.fromEntries(
    project.databases.map(({ binding }) => [binding, path.join(folder, `history-${binding}.sock`)]),
  );
  writeFileSync(dir.historyConfig, historyConfig(dir, sockets), { mode: 0o600 });
  const child = startChildServer({
    what: "The history process",
    config: dir.historyConfig,
    environment: {},
    sockets: Object.values(sockets),
    probePath: "/",
  });
  return { child, sockets };
};
