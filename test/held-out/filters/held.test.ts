import { appendFileSync } from 'node:fs';
import { test } from 'vitest';
import { BEHAVIOURS } from './behaviours.ts';
import { type List, play, type Setup } from './world.ts';

const env = (name: string, usual: string) => (process.env[name] ?? usual).split('+');
const only = process.env.ONLY?.split('+');
const OUT = process.env.OUT ?? '/tmp/held.log';

const cases: [string, Setup][] = [];
for (const name of Object.keys(BEHAVIOURS)) {
  if (only && !only.some(each => name === each || (each.endsWith('*') && name.startsWith(each.slice(0, -1))))) continue;
  for (const list of env('LISTS', 'invoices+transactions'))
    for (const order of env('ORDERS', 'id-desc'))
      for (const paging of env('PAGING', 'meta'))
        for (const max of env('MAX', '20'))
          for (const size of env('SIZE', '300'))
          cases.push([name, { list: list as List, order, paging: paging as never, max: Number(max), size: Number(size), undated: name.includes('undated') }]);
}
test.concurrent.each(cases)('%s %j', async (name, setup) => {
  const report = await play(BEHAVIOURS[name] as never, setup);
  const head = `=== ${name} ${setup.list} ${setup.order} ${setup.paging} ${setup.max} ${setup.size} ${report.problems.length > 0 ? 'PROBLEM' : 'ok'}`;
  appendFileSync(OUT, [head, ...report.lines.map(l => `  ${l}`), ...report.traits.map(t => `    ${t}`), ...report.problems.map(p => `  !! ${p}`), ''].join('\n') + '\n');
});
