import { mix } from '../../../sandbox/data/random.ts';
import type { AddFields } from '../../../sandbox/lists/render-row.ts';
import type { FieldType } from '../../../src/config/list-files.ts';

/** A value as the source sends it, and what columns hold of it, as text. A type is absent if the value does not fit it. */
interface Sample {
  readonly sent: unknown;
  readonly fits: Readonly<Partial<Record<FieldType, string | null>>>;
}

const EMPTY = { integer: null, decimal: null, date: null, timestamp: null };
const NULL: Sample = { sent: null, fits: { ...EMPTY, text: null } };
const BLANK: Sample = { sent: '', fits: { ...EMPTY, text: '' } };
const words = (sent: string): Sample => ({ sent, fits: { text: sent } });
const number = (sent: string | number, decimal: string, integer?: string): Sample => ({
  sent,
  fits: { text: String(sent), decimal, ...(integer === undefined ? {} : { integer }) },
});
const day = (sent: string): Sample => ({ sent, fits: { text: sent, date: sent } });

const HOURS = [
  number(1.5, '1.5'),
  number('12.50', '12.5'),
  number(12, '12', '12'),
  number('07', '7', '7'),
  words('many'),
];
const SAMPLES = {
  project: [
    words('Alpha'),
    words('Beta "B" \\'),
    number(12, '12', '12'),
    { sent: true, fits: { text: 'true' } },
    BLANK,
  ],
  hours: [...HOURS, NULL],
  seen_on: [
    day('2026-01-15'),
    day('2024-02-29'),
    words('2023-02-29'),
    { sent: '0000-00-00', fits: { text: '0000-00-00', date: null, timestamp: null } },
    NULL,
  ],
  made_at: [
    { sent: '2026-01-15T10:00:00Z', fits: moment('2026-01-15T10:00:00Z') },
    { sent: '2026-01-15 11:00:00', fits: moment('2026-01-15T11:00:00Z', '2026-01-15 11:00:00') },
    {
      sent: 1768471200,
      fits: { ...number(1768471200, '1768471200', '1768471200').fits, timestamp: '2026-01-15T10:00:00Z' },
    },
    BLANK,
  ],
  'items.discount': [...HOURS, BLANK],
} as const satisfies Record<string, readonly Sample[]>;

function moment(timestamp: string, text = timestamp): Sample['fits'] {
  return { text, date: timestamp.slice(0, 10), timestamp };
}

type Row = { readonly id: number; readonly items?: unknown };

/** The fields of a row, and those of each of its lines. Half of the changes of a row change all of them. */
export function customFields(
  resource: string,
  row: Row,
): { own: Record<string, Sample>; lines: Record<string, Sample>[] } {
  const text = JSON.stringify(row);
  const version = mix(row.id, [...text].reduce((sum, each) => sum + each.charCodeAt(0), text.length) % 2);
  const pick = (field: keyof typeof SAMPLES, salt = 0) => {
    const samples: readonly Sample[] = SAMPLES[field];
    return samples[mix(version, field.length + 16 * salt) % samples.length] as Sample;
  };
  const planted = `planted-${resource}-${version % 100_000}`;
  const iban = version % 6 === 0 ? NULL : words(planted);
  const details = { note: 'kept', deep: [{ IBAN: planted }, 1] };
  return {
    own: {
      ...{ project: pick('project'), hours: pick('hours'), seen_on: pick('seen_on'), made_at: pick('made_at'), iban },
      details: { sent: details, fits: {} },
      remarks: words(JSON.stringify({ iban: planted, n: 1.5 })),
    },
    lines: (Array.isArray(row.items) ? row.items : []).map((_, line) => ({
      discount: pick('items.discount', line + 1),
      iban: line % 2 === 0 ? iban : NULL,
    })),
  };
}

/** The values of `customFields` beside those of the row. Lists that are kept whole have none. */
export const addCustomFields: AddFields = (resource, row, rendered) => {
  if (['orders', 'suppliers', 'purchases'].includes(resource)) return rendered;
  const { own, lines } = customFields(resource, row);
  const sent = (samples: Record<string, Sample>) =>
    Object.fromEntries(Object.entries(samples).map(([name, sample]) => [name, sample.sent]));
  const items = Object.entries((rendered.items ?? {}) as Record<string, object | null>).map(([place, item], line) => {
    return [place, item === null ? item : { ...item, ...sent(lines[line] ?? {}) }] as const;
  });
  const withLines = Array.isArray(rendered.items) ? items.map(([, item]) => item) : Object.fromEntries(items);
  return { ...rendered, ...('items' in rendered ? { items: withLines } : {}), ...sent(own) };
};

/** The names of those of a row. */
export const CUSTOM_FIELDS = Object.keys(customFields('', { id: 0 }).own);
