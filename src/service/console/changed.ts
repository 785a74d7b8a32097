import { Hono } from 'hono';
import { html } from 'hono/html';
import { stampMs } from '../../clock.ts';
import { changesQuery, readNumbers } from '../../warehouse/reports/changes.ts';
import type { Html } from '../html-document.ts';
import type { ServedSource } from '../status/served-source.ts';
import { type ConsoleParts, nowIn, sourceOf, withoutSecrets } from './console-parts.ts';
import { ago, card, choice, commandBox, documentOf, table } from './elements.ts';
import { recordPath } from './record-page.ts';

const MOST = 100;

/** `/changed/<source>`: the newest changes of its rows, or of one list. */
export const changedRoutes = (parts: ConsoleParts): Hono =>
  new Hono().get('/changed/:source', async c =>
    c.html(await changedPage(parts, sourceOf(parts, c), c.req.query('resource') ?? '')),
  );

interface Changed {
  readonly [column: string]: unknown;
  readonly number: string;
  readonly seen_at: string;
  readonly resource: string;
  readonly key: string | null;
  readonly kind: string;
  readonly change: string | null;
}

async function changedPage(parts: ConsoleParts, source: ServedSource, asked: string): Promise<Html> {
  const { database } = parts;
  const { name, schema, jobs } = source;
  const resource = jobs.has(asked) ? asked : undefined;
  const { last } = await readNumbers(database, schema);
  const query = changesQuery({
    to: last,
    newest: MOST,
    resource,
    isText: true,
    changes: `"${schema.replaceAll('"', '""')}".changes`,
  });
  const { rows } = await database.query<Changed>(query);
  const now = await nowIn(parts, source);
  const list = table({
    caption: `Changes of ${name}`,
    head: ['no.', 'seen', 'record', 'kind', 'what changed'],
    right: [0],
    stack: {},
    rows: withoutSecrets(parts, rows)
      .toReversed()
      .map(({ number, seen_at: seenAt, resource: of, key, kind, change }) => [
        number,
        ago(stampMs(seenAt), now),
        key === null
          ? html`${of} <span class="soft">(erased)</span>`
          : html`<a href="${recordPath(parts, name, of, key)}">${of} ${key}</a>`,
        kind,
        change ?? '',
      ]),
  });
  const lists = choice('resource', 'List', ['', ...jobs.keys()], resource ?? '', 'all');
  const filter = html`<form class="row filter" method="get">${lists}<button>Show</button></form>`;
  const follow = html`<p class="soft">The same, as it comes, for a program:</p>${commandBox('sluice changes --follow --json')}`;
  const none = html`<p class="soft">${last === 0 ? 'Nothing has changed since the lists were first read.' : `No change of ${resource ?? name} is kept (30 days).`}</p>`;
  const main = html`<p class="crumb"><a href="/data">Data</a> / ${name}</p><h1>Changes</h1>
${card(`The newest of ${name}`, [filter, rows.length === 0 ? none : list])}
${card('For programs', follow)}`;
  return documentOf({ title: 'Changes', section: '/data', ...now, main });
}
