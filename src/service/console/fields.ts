import { Hono } from 'hono';
import { html } from 'hono/html';
import { isKind, type SluiceError } from '../../errors.ts';
import { formFields } from '../access/form-guard.ts';
import { count } from '../format.ts';
import type { Html } from '../html-document.ts';
import { keptText, type ListField, maskLines, type NewField } from '../status/list-fields.ts';
import type { ServedSource } from '../status/served-source.ts';
import { type ConsoleParts, nowIn, sourceNamed, withoutSecrets } from './console-parts.ts';
import { card, choice, documentOf, table } from './elements.ts';

/** Which fields does a list have beyond the columns, and which of them are to be columns? */
export const fieldRoutes = (parts: ConsoleParts): Hono =>
  new Hono()
    .get('/fields/:source', async (c, next) => {
      const place = placeIn(parts, c.req.param('source'), c.req.query('list'));
      return place === null ? next() : c.html(await fieldsPage(parts, place));
    })
    .post('/fields/:source', async (c, next) => {
      const { list, field = '', type = '', description = '' } = await formFields(c);
      const place = placeIn(parts, c.req.param('source'), list);
      if (place === null) return next();
      const added = { resource: place.resource, field, type, description };
      try {
        await parts.fields.add(added);
        return c.redirect(pathOf(place), 303);
      } catch (error) {
        if (!isKind(error, 'usage', 'configuration', 'failed')) throw error;
        return c.html(await fieldsPage(parts, place, { added, error }), 409);
      }
    });

interface Place {
  readonly source: ServedSource;
  readonly resource: string;
}

/** Null for a source or a list that there is not. */
function placeIn(parts: ConsoleParts, name: string, list: string | undefined): Place | null {
  const source = sourceNamed(parts, name);
  const resource = list ?? source?.jobs.keys().next().value;
  return source === undefined || resource === undefined || !source.jobs.has(resource) ? null : { source, resource };
}

const pathOf = ({ source, resource }: Place): string =>
  `/fields/${encodeURIComponent(source.name)}?${new URLSearchParams({ list: resource }).toString()}`;

/** A field that gets no column, and why. */
interface Refused {
  readonly added: NewField;
  readonly error: SluiceError;
}

async function fieldsPage(parts: ConsoleParts, place: Place, refused: Refused | null = null): Promise<Html> {
  const { source, resource } = place;
  const now = await nowIn(parts, source);
  const isUnderWay = parts.fields.last?.isUnderWay === true;
  const chooser = html`<form class="row filter" method="get" action="/fields/${encodeURIComponent(source.name)}">${choice('list', 'List', [...source.jobs.keys()], resource)}<button>Show</button></form>`;
  const main = html`<p class="crumb"><a href="/data?${new URLSearchParams({ source: source.name }).toString()}">Data</a> / ${source.name}</p><h1>Fields</h1>
${isUnderWay ? card('Fields', [chooser, lastText(parts, refused)]) : await cards(parts, place, chooser, refused)}`;
  // Each look reads the whole table.
  return documentOf({ title: 'Fields', section: '/data', ...now, main, isStill: !isUnderWay });
}

async function cards(parts: ConsoleParts, place: Place, chooser: Html, refused: Refused | null): Promise<Html> {
  const { source, resource } = place;
  const { fields, masks } = withoutSecrets(parts, await parts.fields.read(source.name, resource));
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
  const stored =
    masks.length === 0
      ? html`<p class="soft">All fields of ${resource} are stored as they come. The setting SOURCE_NEVER leaves fields out, and SOURCE_HASH stores hashes of them.</p>`
      : html`<p>${maskLines(masks).join(' ')}</p><p class="soft">Set by SOURCE_NEVER and SOURCE_HASH.</p>`;
  return html`${card(`Fields of ${resource} beyond the columns`, [chooser, list])}
${addCard(parts, place, fields, refused)}
${card('What is not stored', stored)}`;
}

function addCard(
  parts: ConsoleParts,
  place: Place,
  fields: readonly ListField[],
  refused: Refused | null,
): Html | string {
  const { source, resource } = place;
  const open = fields.filter(({ file, type }) => file === null && type !== null);
  const told = lastText(parts, refused, resource);
  if (open.length === 0) return told === '' ? '' : card('Columns', told);
  const chosen = refused?.added ?? { field: open[0]?.field ?? '', type: open[0]?.type ?? 'text', description: '' };
  return card('Give a field a column', [
    html`<p class="soft">The column is filled from what is stored, without a request, and declared in <code>lists/${resource}.json</code>. The service reads nothing meanwhile. To take it back: <code>sluice fields drop</code>.</p>
<form method="post" action="/fields/${encodeURIComponent(source.name)}" class="fields after"><input type="hidden" name="list" value="${resource}">
${choice(
  'field',
  'Field',
  open.map(each => each.field),
  chosen.field,
)}
${choice('type', 'Type', parts.fields.types, chosen.type)}
<label class="field"><span>Description (optional)</span><input type="text" name="description" maxlength="500" value="${chosen.description}"></label>
<button>Add the column</button></form>`,
    told,
  ]);
}

/** Why a field was refused, and what became of the last one; with `resource`, of one of that list. */
function lastText(
  { fields: { last }, hide }: ConsoleParts,
  refused: Refused | null,
  resource: string | undefined = last?.field.resource,
): Html | string {
  const why = refused && [refused.error.message, refused.error.next].filter(Boolean).join(' ');
  const refusal = why === null ? '' : html`<p class="bad after" role="alert">${hide(why)}</p>`;
  if (last === null || last.field.resource !== resource) return refusal;
  const name = `${last.field.resource}.${last.field.field}`;
  const told = last.isUnderWay
    ? html`<p class="after" role="status">${name} becomes a column once the readings in progress have ended. This page then shows it.</p>`
    : last.failure === null
      ? html`<p class="after" role="status">${name} is a column now.</p>`
      : html`<p class="bad after" role="alert">${name} has got no column. ${hide(last.failure)}</p>`;
  return html`${refusal}${told}`;
}
