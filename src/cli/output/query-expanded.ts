import { plural } from '../../service/format.ts';
import type { Format } from '../../service/query/csv.ts';
import { visibleLines, visibleText } from '../../visible-text.ts';
import type { Colors } from '../session/terminal.ts';
import { displayWidth } from './query-table.ts';

/** One column a line, for rows that are wider than a screen. Nothing is cut; further lines of a value are indented. */
export function queryExpanded(colors: Colors): Format {
  let rowCount = 0;
  return {
    write(columns, rows) {
      const names = columns.map(column => visibleText(column.name));
      const width = Math.max(0, ...names.map(displayWidth));
      const indent = `\n${' '.repeat(width + 2)}`;
      const lines = rows.flatMap(row => [
        colors.dim(`-- row ${++rowCount}`),
        ...names.map((name, at) => {
          const value = row[at] ?? null;
          const shown =
            value === null
              ? colors.dim('NULL')
              : visibleLines(value.replaceAll(/\r\n|\r/g, '\n')).replaceAll('\n', indent);
          return `${colors.bold(name)}${' '.repeat(width + 2 - displayWidth(name))}${shown}`.trimEnd();
        }),
      ]);
      return lines.map(line => `${line}\n`).join('');
    },
    end: () => colors.dim(`(${plural(rowCount, 'row')})`).concat('\n'),
  };
}
