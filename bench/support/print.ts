import Table from 'cli-table3';

/** Prints a table, or with `json` the document that it shows. */
export function print(options: {
  readonly json: boolean;
  readonly document: unknown;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}): void {
  if (options.json) {
    console.log(JSON.stringify(options.document, null, 2));
    return;
  }
  const table = new Table({ head: [...options.head], style: { head: [], border: [] } });
  for (const row of options.rows) table.push([...row]);
  console.log(table.toString());
}

/** Says on stderr how far a measurement is, as each step may take minutes. */
export function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** A number for people: `1,234,567`, or with so many decimals; `-` where too little was measured. */
export function figure(value: number, decimals = 0): string {
  if (!Number.isFinite(value)) return '-';
  return value.toLocaleString('en', { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}
