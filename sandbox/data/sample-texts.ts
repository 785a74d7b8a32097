/** Text that real data contains and that breaks careless code: accents, emoji, quotes, newlines, tabs, CJK, right-to-left. */
export const firstNames = [
  'Ada',
  'Zoë',
  'José',
  'Łukasz',
  'Siân',
  'Noor',
  '美咲',
  'Björk',
  "D'Arcy",
  'Øyvind',
  'Мария',
  'Ngọc',
];
export const lastNames = [
  'Smith',
  'Müller',
  "O'Neil",
  'García',
  'Nuñez',
  'Dvořák',
  'Østergård',
  '田中',
  'Иванов',
  'Nguyễn',
  'van der Berg',
];
export const trades = [
  'Bakery',
  'Plumbing',
  'Café',
  'Logistics',
  'Design Studio',
  'Garage',
  'Dental Care',
  'Bücher',
  '商店',
  'Consulting',
];
export const legalForms = ['Ltd', 'GmbH', 'S.A.', 'Inc.', '& Sons', 'AB', '株式会社', 'Oy', ''];
export const streets = [
  'High Street',
  'Rue de l’Église',
  'Königsallee',
  'Calle Mayor',
  '5th Avenue',
  'Storgata',
  '銀座通り',
];

/** City, state, zip, country. */
export const places: readonly (readonly [string, string | null, string, string])[] = [
  ['London', null, 'SW1A 1AA', 'GB'],
  ['São Paulo', 'SP', '01310-100', 'BR'],
  ['Zürich', 'ZH', '8001', 'CH'],
  ['New York', 'NY', '10001', 'US'],
  ['Boston', 'MA', '02108', 'US'],
  ['Kraków', null, '30-001', 'PL'],
  ['東京', '東京都', '100-0001', 'JP'],
  ['Reykjavík', '', '101', 'IS'],
  ['Tromsø', null, '9008', 'NO'],
];

export const goods = [
  'Consulting, per hour',
  'Café crème, 1 kg',
  'Cable 3 m / 10\u2032',
  'Bolt 5/8" "hex"',
  'Support plan ⭐ gold',
  'Монтаж',
  'Übersetzung DE→EN',
  '配送料',
  "Driver's time",
  'Domain; 1 year',
  'Hosting\tmonthly',
  'Paper\nA4, 80 g',
];

export const notes = [
  'Thank you for your business!',
  'Please pay within 30 days.\nBank details overleaf.',
  'Rabatt: 5 % bei Zahlung in 7 Tagen',
  'PO "4711/ä"',
  'ご利用ありがとうございます',
  'Paid by cheque — see letter 📎',
  '{"not":"json"}, \\N and \\.',
  'شكرا',
];

export const payments = [
  'Card payment',
  'Bank transfer ref 00123',
  'Refund: order cancelled 😕',
  'Rent — März',
  'Fuel "A7"',
  'Bureau; fournitures\nstylos, papier',
  '水道光熱費',
  'Salaries',
  "Barry's expenses",
  'Direct debit\telectricity',
];

export const subjects = ['Cannot log in', 'Invoice is wrong', 'Wo ist meine Lieferung?', 'Merci 🙏', '返品について'];
