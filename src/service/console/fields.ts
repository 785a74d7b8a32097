import { Hono } from 'hono';
import { html } from 'hono/html';
import { isKind, type SluiceError } from '../../errors.ts';
import { formFields } from '../access/form-guard.ts';
import { count } from '../format.ts';
import type { Html } from '../html-document.ts';
import { type FieldChange, type FieldEditor, keptText, type ListField, maskLines } from '../status/list-fields.ts';
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
      const change = { resource: place.resource, field, type: type || null, description };
      try {
        await parts.fields.change(change);
        return c.redirect(pathOf(place.source, place.resource), 303);
      } catch (error) {
        if (!isKind(error, 'usage', 'configuration', 'failed')) throw error;
        return c.html(await fieldsPage(parts, place, { change, error }), 409);
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

const pathOf = ({ name }: ServedSource, resource: string): string =>
  `/fields/${encodeURIComponent(name)}?${new URLSearchParams({ list: resource }).toString()}`;

async function fieldsPage(
  parts: ConsoleParts,
  { source, resource }: Place,
  refused: { readonly change: FieldChange; readonly error: SluiceError } | null = null,
): Promise<Html> {
  const now = await nowIn(parts, source);
  const { fields, masks } = withoutSecrets(parts, await parts.fields.read(source.name, resource));
  const chooser = html`<form class="row filter" method="get" action="/fields/${encodeURIComponent(source.name)}">${choice('list', 'List', [...source.jobs.keys()], resource)}<button>Show</button></form>`;
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
            each.file === null ? keptText(each) : html`${keptText(each)} ${dropForm(source, resource, each)}`,
          ]),
        });
  const stored =
    masks.length === 0
      ? html`<p class="soft">All fields of ${resource} are stored as they come. SOURCE_NEVER leaves fields out, and SOURCE_HASH keeps hashes of them; both are settings.</p>`
      : html`<p>${maskLines(masks).join(' ')}</p><p class="soft">Set by SOURCE_NEVER and SOURCE_HASH.</p>`;
  const main = html`<p class="crumb"><a href="/data?${new URLSearchParams({ source: source.name }).toString()}">Data</a> / ${source.name}</p><h1>Fields</h1>
${card(`Fields of ${resource} beyond the columns`, [chooser, list])}
${addCard(parts.fields, { source, resource }, fields, refused)}
${card('What is not stored', stored)}`;
  return documentOf({ title: 'Fields', section: '/data', ...now, main, isStill: refused !== null });
}

const dropForm = (source: ServedSource, resource: string, { field }: ListField): Html =>
  html`<form method="post" action="/fields/${encodeURIComponent(source.name)}">${hidden({ list: resource, field })}<button>Drop</button></form>`;

const hidden = (values: Readonly<Record<string, string>>): Html[] =>
  Object.entries(values).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`);

function addCard(
  { last, types }: FieldEditor,
  { source, resource }: Place,
  fields: readonly ListField[],
  refused: { readonly change: FieldChange; readonly error: SluiceError } | null,
): Html | string {
  const told = last === null ? '' : lastText(last);
  const open = fields.filter(({ file, type }) => file === null && type !== null);
  if (last?.isUnderWay || (open.length === 0 && refused === null)) return told === '' ? '' : card('Changes', told);
  const chosen = refused?.change.type == null ? open[0] : undefined;
  const { field, type } = {
    field: chosen?.field ?? refused?.change.field ?? '',
    type: chosen?.type ?? refused?.change.type ?? 'text',
  };
  const why = refused && [refused.error.message, refused.error.next].filter(Boolean).join(' ');
  return card('Give a field a column', [
    html`<p class="soft">The column is filled from what is stored, without a request, and declared in <code>lists/${resource}.json</code>. The service reads nothing for some seconds meanwhile.</p>
<form method="post" action="/fields/${encodeURIComponent(source.name)}" class="fields after">${hidden({ list: resource })}
${choice(
  'field',
  'Field',
  open.map(each => each.field),
  field,
)}
${choice('type', 'Type', types, type)}
<label class="field"><span>Description (optional)</span><input type="text" name="description" maxlength="500" value="${refused?.change.description ?? ''}"></label>
<button>Add the column</button></form>`,
    why === null ? '' : html`<p class="bad after" role="alert">${why}</p>`,
    told,
  ]);
}

function lastText({ change: { resource, field, type }, isUnderWay, failure }: NonNullable<FieldEditor['last']>): Html {
  const name = `${resource}.${field}`;
  if (isUnderWay)
    return html`<p role="status">${type === null ? `${name} goes back to _extra` : `${name} becomes a column`} once the readings in progress have ended. This page then shows it.</p>`;
  if (failure !== null) return html`<p class="bad after" role="alert">${name} was not changed. ${failure}</p>`;
  return html`<p class="after" role="status">${type === null ? `${name} is in _extra again.` : `${name} is a column now.`}</p>`;
}
