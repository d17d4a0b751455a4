
O
PlaceholderPlaceholder*
dtype0*&
shape:€€€€€ €€€€€ €€€€€ 
-
my/customOp/000new_custom_opPlaceholder
$
output/reluRelumy/customOp/000