const held = [];
const count = Number(process.argv[2]);
for (let i = 0; i < count; i++) held.push(new Array(100000).fill(i));
console.log("held", held.length);
