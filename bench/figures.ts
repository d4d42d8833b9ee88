// A run's results, as a table for people and one JSON line for scripts. Compare figures of one run only. The line is an
// object: the scale, the machine, and `figures`, an array of `Figure` with null for missing values. Fields may be
// added; none changes its meaning.

export interface Figure {
  part: string;
  what: string;
  clients: number | null;
  unit: string;
  /** The figure of the minimal object, if it has one. */
  floor: number | null;
  /** The figure of the peer named in `what`, if any. */
  peer: number | null;
  signalbox: number | null;
  /** Signalbox divided by the peer, if there is one, else by the floor; or by what `note` says. */
  ratio: number | null;
  note: string;
}

export const figure = (given: Partial<Figure> & Pick<Figure, "part" | "what" | "unit">): Figure => {
  const { floor = null, peer = null, signalbox = null } = given;
  const base = peer ?? floor;
  const ratio = base === null || signalbox === null || base === 0 ? null : signalbox / base;
  return { clients: null, ratio, note: "", ...given, floor, peer, signalbox };
};

const HEADER = ["part", "what", "clients", "unit", "floor", "peer", "signalbox", "ratio", "note"] as const;
const RIGHT_ALIGNED: ReadonlySet<string> = new Set(["clients", "floor", "peer", "signalbox", "ratio"]);

const shown = (value: string | number | null, isRatio: boolean): string => {
  if (value === null) return "";
  if (typeof value === "string") return value;
  if (isRatio) return value.toFixed(2);
  return value >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
};

export const table = (figures: readonly Figure[]): string => {
  const rows = figures.map((one) => HEADER.map((name) => shown(one[name], name === "ratio")));
  const widths = HEADER.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return RIGHT_ALIGNED.has(HEADER[column] ?? "") ? cell.padStart(width) : cell.padEnd(width);
      })
      .join("  ")
      .trimEnd();
  return [line(HEADER), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
};

const rounded = (value: number | null): number | null => (value === null ? null : Number(value.toPrecision(4)));

export const jsonLine = (run: object, figures: readonly Figure[]): string =>
  JSON.stringify({
    ...run,
    figures: figures.map((one) => ({
      ...one,
      floor: rounded(one.floor),
      peer: rounded(one.peer),
      signalbox: rounded(one.signalbox),
      ratio: rounded(one.ratio),
    })),
  });
