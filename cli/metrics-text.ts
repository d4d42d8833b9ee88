// Reads Prometheus text, as /metrics answers it.

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

export const samplesOf = (text: string): Sample[] =>
  text.split("\n").flatMap((line) => {
    const [, name, labels = "", value] = LINE.exec(line) ?? [];
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(LABEL)].map(([, label = "", said = ""]) => [label, said] as const);
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });

/** Over all labels but those that are given. */
export const sumOf = (samples: readonly Sample[], name: string, labels: Sample["labels"] = {}): number =>
  samples
    .filter((one) => one.name === name && Object.entries(labels).every(([label, said]) => one.labels[label] === said))
    .reduce((sum, { value }) => sum + value, 0);
