type Json = Record<string, unknown>;

/** What a source may answer for a while, with status 200 and all of its rows. `field`: the one it happens to. */
export const badDays = {
  renamed: 'the field has another name',
  vanished: 'the field is left out',
  nulled: 'the field is null',
  emptied: 'the field is an empty text',
  'half-nulled': 'the field is null in every second row',
  'items-empty': 'the lines of a document are an empty list',
  'items-omitted': 'the lines of a document are left out',
} as const;

export interface BadDay {
  readonly kind: keyof typeof badDays;
  readonly resource: string;
  readonly field: string;
}

/** A row as it is listed on that day. */
export function onBadDay({ kind, field }: BadDay, row: Json): Json {
  const { [field]: value, ...others } = row;
  switch (kind) {
    case 'renamed':
      return { ...others, [`${field}_v2`]: value };
    case 'vanished':
      return others;
    case 'nulled':
      return { ...row, [field]: null };
    case 'emptied':
      return { ...row, [field]: '' };
    case 'half-nulled':
      return Number(row.id) % 2 === 0 ? { ...row, [field]: null } : row;
    case 'items-empty':
      return { ...row, items: [] };
    case 'items-omitted': {
      const { items: _, ...rest } = row;
      return rest;
    }
  }
}
