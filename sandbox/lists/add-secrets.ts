import { mix } from '../data/random.ts';

type Json = Record<string, unknown>;

/** Adds what no client should store, in the spellings of several frameworks. Every value begins with `sandbox-secret`. */
export function addSecrets(row: Json, id: number): void {
  const secret = `sandbox-secret-${mix(id, 19)}`;
  row.Password = secret;
  row.pass_hash = secret;
  row.RememberToken = secret;
  row['api-key'] = { current: secret, old: [secret] };
  row.profile = { two_factor_secret: secret, login: [{ passwordHash: secret, salt: secret }] };
  row.settings = JSON.stringify({ smtp: { smtp_password: secret } });
  const { items } = row;
  if (Array.isArray(items)) row.items = items.map(item => withCard(item, secret));
  else if (items !== null && typeof items === 'object')
    row.items = Object.fromEntries(Object.entries(items).map(([name, item]) => [name, withCard(item, secret)]));
}

const withCard = (item: unknown, secret: string): unknown =>
  item !== null && typeof item === 'object' ? { ...item, cardNumber: secret, card: { CVV: secret } } : item;
