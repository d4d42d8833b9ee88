// Renders model text: headings, lists, tables, code, emphasis. Creates elements, never markup, so untrusted text stays text;
// links are shown as text.

import type { VNode } from "preact";

const INLINE = /(`[^`\n]+`|\*\*[^*\n]+\*\*)/g;

const inline = (text: string): (string | VNode)[] =>
  text.split(INLINE).map((part, index) => {
    if (index % 2 === 0) return part;
    return part.startsWith("`") ? (
      <code key={index}>{part.slice(1, -1)}</code>
    ) : (
      <strong key={index}>{part.slice(2, -2)}</strong>
    );
  });

type Block =
  | { kind: "code"; lines: string[] }
  | { kind: "list"; isNumbered: boolean; lines: string[] }
  | { kind: "heading"; lines: string[] }
  | { kind: "table"; lines: string[] }
  | { kind: "text"; lines: string[] };

const BULLET = /^\s*[-*•]\s+/;
const NUMBER = /^\s*\d+[.)]\s+/;
const HEADING = /^#{1,6}\s+/;
const FENCE = /^\s*```/;
const TABLE = /^\s*\|.*\|\s*$/;
const CELL_END = /(?<!\\)\|/;
const TABLE_RULE = /^[\s|:-]+$/;

const listLine = (line: string): { isNumbered: boolean; text: string } | null => {
  if (BULLET.test(line)) return { isNumbered: false, text: line.replace(BULLET, "") };
  return NUMBER.test(line) ? { isNumbered: true, text: line.replace(NUMBER, "") } : null;
};

const addLine = (blocks: Block[], line: string): void => {
  const last = blocks.at(-1);
  const item = listLine(line);
  if (TABLE.test(line)) {
    if (last?.kind === "table") last.lines.push(line);
    else blocks.push({ kind: "table", lines: [line] });
  } else if (HEADING.test(line)) blocks.push({ kind: "heading", lines: [line.replace(HEADING, "")] });
  else if (item !== null) {
    if (last?.kind === "list" && last.isNumbered === item.isNumbered) last.lines.push(item.text);
    else blocks.push({ kind: "list", isNumbered: item.isNumbered, lines: [item.text] });
  } else if (last?.kind === "text" && line.trim() !== "") last.lines.push(line);
  else blocks.push({ kind: "text", lines: line.trim() === "" ? [] : [line] });
};

const blocksOf = (text: string): Block[] => {
  const blocks: Block[] = [];
  let code: string[] | null = null;
  for (const line of text.split("\n")) {
    if (FENCE.test(line)) {
      code = code === null ? [] : null;
      if (code !== null) blocks.push({ kind: "code", lines: code });
    } else if (code !== null) code.push(line);
    else addLine(blocks, line);
  }
  return blocks.filter(({ kind, lines }) => kind === "code" || lines.length > 0);
};

const cellsOf = (line: string): string[] =>
  line
    .trim()
    .slice(1, -1)
    .split(CELL_END)
    .map((cell) => cell.replaceAll("\\|", "|").trim());

const RenderedTable = ({ head, rows }: { head: string; rows: readonly string[] }) => (
  <table class="rendered-table">
    <thead>
      <tr>
        {cellsOf(head).map((cell, index) => (
          <th key={index} scope="col">
            {inline(cell)}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {rows.map((row, index) => (
        <tr key={index}>
          {cellsOf(row).map((cell, at) => (
            <td key={at}>{inline(cell)}</td>
          ))}
        </tr>
      ))}
    </tbody>
  </table>
);

const Shown = ({ block }: { block: Block }) => {
  const [head = "", rule = "", ...rows] = block.lines;
  if (block.kind === "table" && TABLE_RULE.test(rule)) return <RenderedTable head={head} rows={rows} />;
  if (block.kind === "code") return <pre class="rendered-code">{block.lines.join("\n")}</pre>;
  if (block.kind === "heading") return <p class="rendered-heading">{inline(block.lines.join(" "))}</p>;
  if (block.kind === "text" || block.kind === "table") return <p>{inline(block.lines.join("\n"))}</p>;
  const items = block.lines.map((line, index) => <li key={index}>{inline(line)}</li>);
  return block.isNumbered ? <ol>{items}</ol> : <ul>{items}</ul>;
};

export const RenderedText = ({ text }: { text: string }) => (
  <div class="rendered">
    {blocksOf(text).map((block, index) => (
      <Shown key={index} block={block} />
    ))}
  </div>
);
