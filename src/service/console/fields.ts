import { Hono } from 'hono';
import { html } from 'hono/html';
import { fieldPaths, type Job } from '../../engine/job.ts';
import { SluiceError } from '../../errors.ts';
import { formFields } from '../access/form-guard.ts';
import { count } from '../format.ts';
import type { Html } from '../html-document.ts';
import type { NewRule } from '../status/editor.ts';
import { keptText, type ListField, type ListFields, maskLines, type NewField } from '../status/list-fields.ts';
import type { ServedSource } from '../status/served-source.ts';
import {
  type ConsoleParts,
  changeText,
  nowIn,
  refusable,
  refusalText,
  sourceOf,
  withoutSecrets,
} from './console-parts.ts';
import { card, choice, documentOf, hidden, table } from './elements.ts';

/** Which fields does a list have beyond the columns, and which of them are to be columns? */
export const fieldRoutes = (parts: ConsoleParts): Hono =>
  new Hono()
    .get('/fields/:source', async (c, next) => {
      const place = placeIn(sourceOf(parts, c), c.req.query('list'));
      return place === null ? next() : c.html(await fieldsPage(parts, place));
    })
    .post('/fields/:source', async (c, next) => {
      const source = sourceOf(parts, c);
      const { list, field = '', type = '', description = '', rule, erase } = await formFields(c);
      const place = placeIn(source, list);
      if (place === null) return next();
      const added = { resource: place.resource, field, type, description };
      const done = await refusable(() =>
        rule === undefined ? parts.editor.addField(added) : addRule(parts, place, { field, rule, erase }),
      );
      if (done instanceof SluiceError) return c.html(await fieldsPage(parts, place, { added, error: done }), 409);
      return c.redirect(`${pathOf(source)}?${new URLSearchParams({ list: place.resource }).toString()}`, 303);
    });

async function addRule(
  { editor }: ConsoleParts,
  { source, resource }: Place,
  { field, rule, erase }: { readonly field: string; readonly rule: string; readonly erase: string | undefined },
): Promise<void> {
  if (erase !== 'yes')
    throw new SluiceError('usage', `What is stored of ${resource}.${field} would be erased.`, {
      next: 'Tick the box if it may be.',
    });
  return editor.addRule({ source: source.name, resource, field, rule: rule === 'hash' ? 'hash' : 'never' });
}

interface Place {
  readonly source: ServedSource;
  readonly resource: string;
}

/** Null for a list that there is not. */
function placeIn(source: ServedSource, list: string | undefined): Place | null {
  const resource = list ?? source.jobs.keys().next().value;
  return resource === undefined || !source.jobs.has(resource) ? null : { source, resource };
}

const pathOf = ({ name }: ServedSource): string => `/fields/${encodeURIComponent(name)}`;

/** A field that gets no column, and why. */
interface Refused {
  readonly added: NewField;
  readonly error: SluiceError;
}

const RULES: Readonly<Record<NewRule['rule'], string>> = { never: 'never store it', hash: 'store a hash of it' };

async function fieldsPage(parts: ConsoleParts, place: Place, refused: Refused | null = null): Promise<Html> {
  const { source, resource } = place;
  const now = await nowIn(parts, source);
  const isUnderWay = parts.editor.last?.isUnderWay === true;
  const chooser = html`<form class="row filter" method="get" action="${pathOf(source)}">${choice('list', 'List', [...source.jobs.keys()], resource)}<button>Show</button></form>`;
  const main = html`<p class="crumb"><a href="/data?${new URLSearchParams({ source: source.name }).toString()}">Data</a> / ${source.name}</p><h1>Fields</h1>
${isUnderWay ? card('Fields', [chooser, refusalText(parts, refused?.error), changeText(parts)]) : await cards(parts, place, chooser, refused)}`;
  // Each look reads the whole table.
  return documentOf({ title: 'Fields', section: '/data', ...now, main, isStill: !isUnderWay });
}

async function cards(parts: ConsoleParts, place: Place, chooser: Html, refused: Refused | null): Promise<Html> {
  const { source, resource } = place;
  const { fields, masks } = withoutSecrets(parts, await parts.editor.readFields(source.name, resource));
  const list =
    fields.length === 0
      ? html`<p class="soft">The source sends no fields of ${resource} beyond the columns.</p>`
      : table({
          caption: `Fields of ${resource} beyond the columns that Sluice knows`,
          head: ['field', 'rows', 'type', 'examples', 'kept in'],
          right: [1],
          stack: {},
          rows: fields.map(each => [
            each.field,
            `${count(each.rows)} of ${count(each.total)}`,
            each.type ?? '–',
            each.examples.join(', '),
            keptText(each),
          ]),
        });
  const told = [
    refusalText(parts, refused?.error),
    changeText(
      parts,
      page => 'resource' in page && page.resource === resource && (page.source ?? source.name) === source.name,
    ),
  ];
  return html`${card(`Fields of ${resource} beyond the columns`, [chooser, list, ...told])}
${addCard(parts, place, fields, refused)}
${ruleCard(place, { fields, masks })}`;
}

/** What is not stored as it comes, and a form that adds to it. */
function ruleCard({ source, resource }: Place, { fields, masks }: ListFields): Html {
  const job = source.jobs.get(resource) as Job;
  const open = new Set([...fieldPaths(job), ...fields.map(({ field }) => field)]);
  for (const field of [job.key, ...masks.map(mask => mask.field)]) open.delete(field);
  const stored =
    masks.length === 0
      ? html`<p>All fields of ${resource} are stored as they come.</p>`
      : html`<p>${maskLines(masks).join(' ')}</p><p class="soft">To take a field out: change SOURCE_NEVER or SOURCE_HASH, and start the service again.</p>`;
  return card('What is not stored', [
    stored,
    html`<form method="post" action="${pathOf(source)}" class="fields after">${hidden({ list: resource })}
${choice('field', 'Field', [...open], '')}
${choice('rule', 'Rule', Object.keys(RULES), 'never', '', rule => RULES[rule as NewRule['rule']])}
<label class="tick"><input type="checkbox" name="erase" value="yes" required> Erase what is stored of it; nothing brings it back</label>
<button>Set the rule</button></form>`,
  ]);
}

function addCard(
  parts: ConsoleParts,
  place: Place,
  fields: readonly ListField[],
  refused: Refused | null,
): Html | string {
  const { source, resource } = place;
  const open = fields.filter(({ file, type }) => file === null && type !== null);
  if (open.length === 0) return '';
  const chosen = refused?.added ?? { field: open[0]?.field ?? '', type: open[0]?.type ?? 'text', description: '' };
  return card('Give a field a column', [
    html`<p class="soft">The column is filled from what is stored, without a request, and declared in <code>lists/${resource}.json</code>. The service reads nothing meanwhile. To take it back: <code>sluice fields drop</code>.</p>
<form method="post" action="${pathOf(source)}" class="fields after">${hidden({ list: resource })}
${choice(
  'field',
  'Field',
  open.map(each => each.field),
  chosen.field,
)}
${choice('type', 'Type', parts.editor.types, chosen.type)}
<label class="field"><span>Description (optional)</span><input type="text" name="description" maxlength="500" value="${chosen.description}"></label>
<button>Add the column</button></form>`,
  ]);
}
